"""A custom function that raises, hangs or returns garbage stops its client in front of the message; nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, DdlReplError
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.streams.messages import RowLcr, UserMessage
from tests.flow.streams.messaging import TYPES, message_rule, put, take
from tests.flow.streams.streams_channel import APPLY, BATTERY_TABLES, CAPTURE, StreamsChannel, streams_channel
from tests.flow.streams.transformations.test_capture_transformations import called, listed
from tests.support.refusing import ask
from tests.support.replica import run

PASSED_ON = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
RULES: dict[str, dict[str, Any]] = {
    "capture": {"add_global_rules": {**CAPTURE, "dml_rule_name": "r_capture"}},
    "propagation": {"add_global_propagation_rules": {**PASSED_ON, "dml_rule_name": "r_propagation"}},
    "apply": {"add_global_rules": {**APPLY, "dml_rule_name": "r_apply"}},
}
WRONG = {"raises": "RUL-137", "hangs": "RUL-137", "garbage": "RUL-136", "as_message": "RUL-136", "as_ddl": "RUL-136"}
"""Functions of the tests, and the code of the error that each ends with."""


def begun(databases: Any, folder: Path, *calls: dict[str, Any], **more: Any) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(
        folder, databases.source, *RULES.values(), *calls, targets=[target], function_seconds=1, **more
    )
    for place in (databases.source, databases.target):
        run(place, *BATTERY_TABLES)
    channel.activate()
    return channel


def state(channel: StreamsChannel, target: str) -> tuple[int, int, list[tuple[Any, ...]]]:
    """How many rows each queue has, and the rows at the target."""
    return len(channel.content("q1")), len(channel.content("q2")), ask(target, "SELECT id FROM hr.t ORDER BY 1")


ONE, TWO = [(1,)], [(1,), (2,)]


@pytest.mark.req("ST-Y-03", "ST-Y-04", "ST-Y-09", "ST-Y-10", "ST-Y-11", "ST-Y-12", "ST-X-28", "ST-X-29")
@pytest.mark.parametrize(
    ("client", "waiting"), [("capture", (1, 1, ONE)), ("propagation", (2, 1, TWO)), ("apply", (2, 2, ONE))]
)
def test_the_client_waits_in_front_of_the_message_and_others_go_on(
    client: str, waiting: tuple[int, int, list[tuple[Any, ...]]], databases: Any, tmp_path: Path
) -> None:
    channel = begun(databases, tmp_path, functions=listed(*WRONG))
    channel.at_source("INSERT INTO hr.t VALUES (1)")
    channel.stage(flow.replicate)
    assert state(channel, databases.target) == (1, 1, ONE)
    channel.at_source("INSERT INTO hr.t VALUES (2)")
    for name, code in WRONG.items():
        channel.change(calls=[*RULES.values(), called(f"r_{client}", name)])
        with pytest.raises(DdlReplError, match=f"function hr.{name} ") as error:
            channel.stage(flow.replicate)
        assert error.value.code == ("APL-113" if isinstance(error.value, ApplyError) else code)
        assert error.value.hint and code in str(error.value)
        assert state(channel, databases.target) == waiting
    channel.change(calls=[*RULES.values()])
    for _ in range(2):
        channel.stage(flow.replicate)
        assert state(channel, databases.target) == (2, 2, TWO)


@pytest.mark.req("ST-Y-15", "ST-Y-16")
@pytest.mark.parametrize("name", ["raises", "hangs", "garbage"])
def test_a_messaging_client_leaves_the_message_in_its_queue(name: str, databases: Any, tmp_path: Path) -> None:
    client = message_rule("c", ":msg.f > 0", rule_name="msg", queue_name="q1")
    channel = begun(databases, tmp_path, client, message_types=TYPES, functions=listed(name))
    put(channel, {"type": "own.m", "fields": {"f": 1}})
    channel.change(calls=[*RULES.values(), client, called("msg", name)])
    for _ in range(2):
        with pytest.raises(DdlReplError, match=f"function hr.{name} ") as error:
            take(channel, "c")
        assert error.value.code == WRONG[name]
    channel.change(calls=[*RULES.values(), client])
    (message,) = take(channel, "c").messages
    assert isinstance(message, UserMessage) and message.fields == {"f": 1}
    assert take(channel, "c").messages == ()


def elsewhere(lcr: RowLcr) -> RowLcr:
    """Another place in the log, another transaction and another source; the row has its id in its note."""
    at = datetime(2000, 1, 1, tzinfo=UTC)
    says = {"scn": 1, "commit_scn": 1, "transaction_id": "none", "source_time": at, "source_database": "nowhere"}
    return replace(lcr, new={**lcr.new, "note": f"{lcr.new['note']}-"}, **says)  # type: ignore[arg-type]


SEEN: list[RowLcr] = []


def seen(lcr: RowLcr, apply: Any) -> None:
    """A handler behind the rule's function at the apply process."""
    SEEN.append(lcr)
    apply.execute(lcr)


def positions(channel: StreamsChannel, queue: str) -> list[tuple[int, int]]:
    """Where the rows of a queue are in the log, in the order in which they are stored."""
    with channel.opened() as context:
        from airflow_ddlrepl.flow.streams.clients import StreamsClients

        return [
            (row["lsn"], row["seq"])
            for feed in StreamsClients(context).feeds(queue)
            for segment in feed.segments(None)
            for file in segment.files()
            for batch in feed.trail.batches(file, file.first, type(file.last)(file.last.lsn, file.last.seq + 1))
            for row in batch.to_pylist()
        ]


@pytest.mark.req("ST-X-26")
def test_a_function_that_returns_another_position_moves_nothing(databases: Any, tmp_path: Path) -> None:
    """At every client the LCR has its own position again: the rows come in their order, and each once."""
    functions = {"hr.elsewhere": f"{__name__}:elsewhere", "hr.seen": f"{__name__}:seen"}
    handler = {"set_dml_handler": {"object_name": "hr.t", "operation_name": "DEFAULT", "user_procedure": "hr.seen"}}
    made = [called(f"r_{client}", "elsewhere") for client in RULES]
    channel = begun(databases, tmp_path, *made, handler, functions=functions)
    SEEN.clear()
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1, 'a'), (2, 1, 'b')", "UPDATE hr.t SET note = 'c' WHERE id = 1",
        "INSERT INTO hr.t VALUES (3, 1, 'd')",
    )  # fmt: skip
    for _ in range(3):
        channel.stage(flow.replicate)
        assert ask(databases.target, "SELECT id, note FROM hr.t ORDER BY id") == [(1, "c--"), (2, "b--"), (3, "d--")]
    assert [one.new["note"] for one in SEEN] == ["a--", "b--", "c--", "d--"]
    assert {one.source_database for one in SEEN} == {"dbs1"} and "none" not in {one.transaction_id for one in SEEN}
    scns = [one.scn for one in SEEN if one.scn is not None]
    assert len(scns) == 4 and scns == sorted(scns) and scns[0] > 1
    found = positions(channel, "q1")
    assert found == sorted(set(found)) and len(found) == 4 and min(found) > (1, 0)
    assert [lsn for lsn, _ in found] == [lsn for lsn, _ in positions(channel, "q2")]
    channel.at_source("DELETE FROM hr.t WHERE id = 2")
    channel.change(calls=[*RULES.values()])
    channel.stage(flow.replicate)
    channel.stage(propagate)
    assert ask(databases.target, "SELECT id FROM hr.t ORDER BY id") == [(1,), (3,)]
    assert len(channel.content("q1")) == len(channel.content("q2")) == 5
