"""Messages of applications at an apply process: sent on to another queue, applied as changes, or passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.apply_process.handlers import HandlerContext
from airflow_ddlrepl.flow.streams.dequeue import dequeue
from airflow_ddlrepl.flow.streams.enqueue import enqueue
from airflow_ddlrepl.streams.messages import UserMessage
from tests.flow.streams.apply_process.test_apply import begun, cycle, rules
from tests.flow.streams.apply_process.test_apply_feed import MESSAGES
from tests.flow.streams.streams_channel import streams_channel
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run

ONE = {"type": "hr.m", "fields": {"n": 1}}
TAKES = {
    "add_message_rule": {
        "message_type": "hr.m", "rule_condition": ":msg.n = 1", "streams_type": "apply", "streams_name": "apply_hr",
        "queue_name": "q1", "rule_name": "m_rule",
    }
}  # fmt: skip


@pytest.mark.req("ST-M-13")
def test_a_message_is_sent_on_to_a_queue_of_the_target(databases: Any, tmp_path: Path) -> None:
    to_q2 = {"set_enqueue_destination": {"rule_name": "m_rule", "destination_queue_name": "q2"}}
    first = begun(databases, tmp_path, TAKES, to_q2, **MESSAGES)
    captured = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q2"}}
    dequeued = {"add_message_rule": {**TAKES["add_message_rule"], "streams_type": "dequeue", "queue_name": "q2",
                                     "streams_name": "reader", "rule_condition": ":msg.n > 0"}}  # fmt: skip
    (tmp_path / "there").mkdir()
    place = {"slot": "ddlrepl_there", "publication": "ddlrepl_there"}
    second = streams_channel(tmp_path / "there", databases.target, captured, dequeued, place=place, **MESSAGES)
    second.activate()
    with first.opened() as context:
        enqueue(context, [ONE, {**ONE, "fields": {"n": 2}}])
    found = cycle(first)
    assert found.changes == {"messages": 1}
    second.stage(flow.capture)
    with second.opened() as context:
        [message] = dequeue(context, "reader").messages
    assert (message.type, dict(message.fields)) == ("hr.m", {"n": 1})  # type: ignore[union-attr]


def noted(message: UserMessage, apply: HandlerContext) -> None:
    """Writes the message's number into a table of the target."""
    apply.sql("INSERT INTO hr.u (id) VALUES (%s)", int(message.fields["n"]))


@pytest.mark.req("ST-R-14", "ST-R-20", "ST-M-04", "ST-X-64")
def test_captured_changes_persistent_ones_and_messages_are_applied(databases: Any, tmp_path: Path) -> None:
    handler = {"alter_apply": {"apply_name": "apply_hr", "message_handler": "noted"}}
    functions = {"noted": f"{__name__}:noted"}
    channel = begun(databases, tmp_path, rules("global"), TAKES, handler, functions=functions, **MESSAGES)
    row = {"object": "hr.t", "command": "INSERT", "new": {"id": 5}, "source_database": "dbs1"}
    with channel.opened() as context:
        enqueue(context, [row, ONE])
    assert cycle(channel, "INSERT INTO hr.t VALUES (6)").changes == {"insert": 2, "messages": 1}
    assert ask(databases.target, "SELECT id FROM hr.t ORDER BY id") == [(5,), (6,)]
    assert ask(databases.target, "SELECT id FROM hr.u") == [(1,)]


def test_a_persistent_change_is_applied_as_any_other(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    row = {
        "object": "hr.t",
        "command": "INSERT",
        "new": {"id": 5, "k": 6, "note": "by hand"},
        "source_database": "dbs1",
    }
    ddl = {"object": "hr.t", "command": "ALTER TABLE", "text": "ALTER TABLE hr.t ADD x int", "source_database": "dbs1"}
    with channel.opened() as context:
        enqueue(context, [row, ddl])
    assert cycle(channel).changes == {"insert": 1, "ddl": 1}
    assert ask(databases.target, "SELECT * FROM hr.t") == [(5, 6, "by hand", None)]


def test_a_persistent_statement_follows_the_names_that_rows_get(databases: Any, tmp_path: Path) -> None:
    renamed = {"rename_table": {"rule_name": "dml", "from_table_name": "hr.t", "to_table_name": "pub.t2"}}
    channel = begun(databases, tmp_path, rules("schema", dml_rule_name="dml"), renamed)
    run(databases.target, "CREATE SCHEMA pub", "CREATE TABLE pub.t2 (id int PRIMARY KEY)")
    ddl = {"object": "hr.t", "command": "ALTER TABLE", "text": "ALTER TABLE hr.t ADD x int", "source_database": "dbs1"}
    row = {"object": "hr.t", "command": "INSERT", "new": {"id": 5, "x": 6}, "source_database": "dbs1"}
    with channel.opened() as context:
        enqueue(context, [ddl, row])
    assert cycle(channel).changes == {"ddl": 1, "insert": 1}
    assert ask(databases.target, "SELECT id, x FROM pub.t2") == [(5, 6)]


def test_a_message_that_can_not_be_read_is_passed_over(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    unreadable = """SELECT ddlrepl.enqueue('{"type": "own.m", "what": 1}')"""
    found = cycle(channel, unreadable, "INSERT INTO hr.t VALUES (1)")
    assert found.changes == {"insert": 1}
    assert [("has no 'what'" in why, count) for why, count in found.discarded.items()] == [(True, 1)]
