"""Where data goes, as boxes and arrows: a channel with targets, and one with the clients of Streams."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.plugin.channel_graph import channel_graph
from airflow_ddlrepl.plugin.drawing.layout import Arrow, Graph
from airflow_ddlrepl.plugin.drawing.picture import picture

SOURCE = {"position": "0/B", "captured": "0/A", "unreachable": None, "lag_bytes": 1}


def target(name: str, level: str = "good", **more: Any) -> dict[str, Any]:
    return {"target": name, "verdict": {"level": level}, "tables": 2, **more}


def between(graph: Graph, start: str, end: str) -> Arrow:
    titles = {box.title: box.id for box in graph.boxes}
    (found,) = (one for one in graph.arrows if (one.start, one.end) == (titles[start], titles[end]))
    return found


def test_positions_stand_in_the_boxes_and_lag_on_the_arrows() -> None:
    late = target("late", "late", position="0/1", lag_seconds=90.0, lag_bytes=2000)
    away = target("away", "bad", unreachable="no route", lag_seconds=None, lag_bytes=None)
    health = {"source": SOURCE, "trail": {"bytes": 5000}, "targets": [late, away]}
    graph = channel_graph(health)
    lines = {box.title: box.lines for box in graph.boxes}
    assert lines["source"] == ("log ends at 0/B",)
    assert lines["trail"] == ("captured 0/A", "5.0 kB still needed")
    assert lines["late"] == ("at 0/1", "2 tables") and lines["away"] == ("does not answer",)
    assert between(graph, "source", "trail").lines == ("1 bytes",)
    assert between(graph, "trail", "late") == Arrow("trail", "target late", ("90 s behind", "2.0 kB"), "late")
    assert between(graph, "trail", "away").lines == ("not known",)


def test_parts_of_several_moments_say_of_which_they_are_and_their_bytes_are_not_told_together() -> None:
    early, late = "2026-11-27T16:20:03+00:00", "2026-11-27T16:20:08+00:00"
    source = {**SOURCE, "position": "0/A", "position_is_at_least": True, "lag_bytes": None, "as_of": late}
    there = target("there", position="0/A", lag_seconds=2.0, lag_bytes=700, as_of=early)
    behind = target("behind", position="0/1", lag_seconds=2.0, lag_bytes=700, as_of=early)
    graph = channel_graph({"source": source, "trail": {"bytes": 5, "as_of": early}, "targets": [there, behind]})
    lines = {box.title: box.lines for box in graph.boxes}
    assert lines["source"] == ("log ends at 0/A or later", "as of 16:20:08 UTC")
    assert lines["trail"] == ("captured 0/A", "as of 16:20:08 UTC", "5 bytes still needed", "as of 16:20:03 UTC")
    assert lines["there"] == ("at 0/A", "2 tables", "as of 16:20:03 UTC")
    assert between(graph, "source", "trail").lines == ("not known",)
    assert between(graph, "trail", "there").lines == ("2 s behind", "0 bytes")
    assert between(graph, "trail", "behind").lines == ("2 s behind",)


def test_a_source_that_does_not_answer_is_marked() -> None:
    source = {**SOURCE, "unreachable": "no route", "position": None, "lag_bytes": None}
    graph = channel_graph({"source": source, "trail": {}, "targets": []})
    assert (graph.boxes[0].lines, graph.boxes[0].level) == (("does not answer",), "bad")
    assert between(graph, "source", "trail").level == "bad"


def client(kind: str, name: str, queue: str, destination: str = "", **more: Any) -> dict[str, Any]:
    """A client that is in trouble with nothing, at 0/9, for which nothing waits."""
    state = {"positions": {"capture": "0/9"}, "messages": 0, "is_more": False, "lag_seconds": 0.0, "trouble": None}
    known = {"kind": kind, "name": name, "queue": queue, "destination": destination, "target": "", "problem": ""}
    return {**known, **state, **more}


def queue(name: str, messages: int | None, **more: Any) -> dict[str, Any]:
    return {"queue": name, "messages": messages, "positions": {"capture": "0/A"}, "is_more": False,
            "lag_seconds": 0.0, **more}  # fmt: skip


CLIENTS = [
    client("capture", "cap", "q1", messages=None, lag_seconds=12.0, lag_bytes=2000),
    client("sync_capture", "sync", "q3", positions={"sync": "window 4"}, messages=7, lag_seconds=3.0),
    client("propagation", "to_q2", "q1", "q2", messages=10_000, is_more=True, lag_seconds=90.0),
    client("apply", "app", "q2", target="site", trouble={"code": "APL-110", "is_disabled": True}),
    client("apply", "app", "q2", target="away", problem="its target does not answer", positions={}, messages=None),
    client("dequeue", "reader", "q3", positions={"sync": None}, messages=1, lag_seconds=5.0),
]
QUEUES = [queue("q1", 10_000, is_more=True, lag_seconds=90.0), queue("q2", 0), queue("q3", None)]


def test_clients_of_streams_have_their_places_and_what_waits_on_their_arrows() -> None:
    graph = streams(CLIENTS)
    assert between(graph, "source", "q1").lines == ("cap", "at 0/9", "12 s behind", "2.0 kB")
    assert between(graph, "source", "q3").lines == ("sync", "at window 4", "7 wait", "3 s behind")
    assert between(graph, "q1", "q2").lines == ("to_q2", "at 0/9", "over 10,000 wait", "90 s behind")
    assert between(graph, "q3", "reader").lines == ("1 waits", "5 s behind")
    assert {one.level for one in graph.arrows if one.end.startswith("queue")} == {""}
    lines = {box.title: box.lines for box in graph.boxes}
    assert lines["q1"] == ("queue", "up to 0/A", "over 10,000 wait", "90 s behind")
    assert lines["q2"] == ("queue", "up to 0/A", "nothing waits")
    assert lines["q3"] == ("queue", "up to 0/A", "nobody reads it")


def test_a_client_in_trouble_and_its_target_are_marked() -> None:
    graph = streams(CLIENTS)
    stopped = between(graph, "q2", "site")
    assert (stopped.lines, stopped.level) == (("app", "disabled: APL-110", "at 0/9"), "bad")
    assert between(graph, "q2", "away").level == "bad"
    boxes = {box.title: (box.lines, box.level) for box in graph.boxes}
    assert boxes["site"] == (("90 s behind", "3 in the error queue", "disabled"), "waiting")
    assert boxes["away"] == (("does not answer",), "bad")
    failing = streams([client("propagation", "p", "q1", "q2", trouble={"code": "TRL-128", "is_disabled": False})])
    assert between(failing, "q1", "q2").lines == ("p", "fails: TRL-128", "at 0/9")
    assert "3 in the error queue" in str(picture(graph))


def test_of_many_feeds_of_a_queue_two_have_their_names_and_places() -> None:
    feeds = {"a": "0/1", "b": None, "c": "0/3", "d": "window 4"}
    graph = streams([client("propagation", "p", "q1", "q2", positions=feeds)])
    assert between(graph, "q1", "q2").lines == ("p", "a 0/1", "c 0/3", "and 1 more")


def streams(clients: list[dict[str, Any]]) -> Graph:
    site = target("site", "waiting", lag_seconds=90.0, waiting=3, is_disabled=True)
    away = target("away", "bad", unreachable="no route")
    return channel_graph({"source": SOURCE, "clients": clients, "queues": QUEUES, "targets": [site, away]})
