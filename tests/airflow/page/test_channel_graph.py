"""Where data goes, as boxes and arrows: a channel with targets, and one with the clients of Streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.plugin.channel_graph import channel_graph
from airflow_ddlrepl.plugin.drawing.picture import Arrow, Graph, picture
from airflow_ddlrepl.plugin.streams_clients import streams_clients
from airflow_ddlrepl.repository.repository import Repository

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "streams" / "five_clients" / "hr.yml"
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


def test_a_source_that_does_not_answer_is_marked() -> None:
    source = {**SOURCE, "unreachable": "no route", "position": None, "lag_bytes": None}
    graph = channel_graph({"source": source, "trail": {}, "targets": []})
    assert (graph.boxes[0].lines, graph.boxes[0].level) == (("does not answer",), "bad")
    assert between(graph, "source", "trail").level == "bad"


def test_clients_of_streams_lead_from_queue_to_queue_and_to_targets(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HR_BRANCH_QUEUE", f"file://{tmp_path}/branch")
    with Repository.open(f"sqlite:///{tmp_path}/hr.db") as repository:
        clients = streams_clients(load_channel(EXAMPLE), repository)
    assert {one["kind"] for one in clients} == {"capture", "sync_capture", "propagation", "apply", "dequeue"}
    applies = [one for one in clients if one["kind"] == "apply"]
    states = [
        {"target": f"at {one['name']}", "client": one["name"], "positions": {"capture": "0/9"}, "unreachable": None,
         "waiting": 3}
        for one in applies
    ]  # fmt: skip
    targets = [target(one["target"]) for one in states]
    health = {"source": SOURCE, "clients": clients, "apply": states, "targets": targets}
    graph = channel_graph(health)
    capture = next(one for one in clients if one["kind"] == "capture")
    assert between(graph, "source", capture["queue"]).lines == (capture["name"], "0/A")
    for one in clients:
        if one["kind"] == "propagation":
            assert between(graph, one["queue"], one["destination"]).lines == (one["name"],)
    for one in applies:
        assert between(graph, one["queue"], f"at {one['name']}").lines == (one["name"], "at 0/9")
    assert "3 in the error queue" in str(picture(graph))


def test_a_channel_without_streams_or_without_its_file_has_no_clients(tmp_path: Path) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/hr.db") as repository:
        assert streams_clients(None, repository) == []
