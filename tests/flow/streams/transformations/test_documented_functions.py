"""The documentation's examples of custom functions at a target, and messages that several clients transform in turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.messaging import take
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.flow.streams.transformations.test_capture_transformations import called, listed
from tests.support.refusing import ask
from tests.support.replica import run

COLUMNS = {
    "number_as_text": "id int PRIMARY KEY, k text, note text",
    "split": "id int PRIMARY KEY, first text, last text",
    "joined": 'id int PRIMARY KEY, "full" text',
    "counted": "id int PRIMARY KEY, k numeric, note text",
}
"""The columns at the target of the table that each function is for; at the source they have a number and a text."""
AT_TARGET = {
    "number_as_text": (1, "number 2.50", "Ann Lee"),
    "split": (1, "Ann", "Lee"),
    "joined": (1, "2.50 Ann Lee"),
    "counted": (1, "2.50", "ANN LEE"),
}


@pytest.mark.req("ST-X-16", "ST-X-17", "ST-X-18", "ST-X-19")
@pytest.mark.parametrize("client", ["capture", "apply"])
def test_a_number_becomes_a_text_and_columns_are_split_combined_or_modified(
    client: str, databases: Any, tmp_path: Path
) -> None:
    of = {"capture": CAPTURE, "apply": APPLY}[client]
    other = {"add_global_rules": {"capture": APPLY, "apply": CAPTURE}[client]}
    rules = [{"add_table_rules": {"table_name": f"hr.{one}", "dml_rule_name": one, **of}} for one in COLUMNS]
    target = {"name": "site", "location": databases.target, "apply": "app"}
    functions = {"targets": [target], "functions": listed(*COLUMNS)}
    calls = (*rules, other, *(called(one, one) for one in COLUMNS))
    channel = streams_channel(tmp_path, databases.source, *calls, **functions)
    tables = [f"CREATE TABLE hr.{one} (id int PRIMARY KEY, k numeric(8, 2), note text)" for one in COLUMNS]
    channel.at_source("CREATE SCHEMA hr", *tables)
    run(databases.target, "CREATE SCHEMA hr", *(f"CREATE TABLE hr.{one} ({of})" for one, of in COLUMNS.items()))
    channel.activate()
    channel.at_source(*(f"INSERT INTO hr.{one} VALUES (1, 2.5, 'Ann Lee')" for one in COLUMNS))
    channel.stage(flow.replicate)
    found = {one: ask(databases.target, f"SELECT * FROM hr.{one}") for one in COLUMNS}
    assert {
        one: tuple(v if isinstance(v, int) else str(v) for v in rows[0]) for one, rows in found.items()
    } == AT_TARGET


def marks(lcr: RowLcr) -> RowLcr:
    """Further customised for a recipient, who never sees what the capture has hidden."""
    assert lcr.new.keys() == {"id", "name"}
    return replace(lcr, new={**lcr.new, "name": f"{lcr.new['name']}, customised"})


@pytest.mark.req("ST-X-46", "ST-X-47", "ST-X-55", "ST-X-75")
@pytest.mark.parametrize("captured_by", ["capture", "sync_capture"])
def test_what_is_hidden_at_the_capture_is_transformed_again_at_each_later_client(
    captured_by: str, databases: Any, tmp_path: Path
) -> None:
    """A propagation, an apply process and a messaging client get the transformed message; others have it as captured.

    A messaging client takes persistent LCRs alone: those of the synchronous capture.
    """
    about = {"table_name": "hr.people", "streams_name": "cap", "queue_name": "q1", "source_database": "dbs1"}
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    capture = {**about, "streams_type": captured_by, "dml_rule_name": "captured"}
    hidden = {"rule_name": "captured", "table_name": "hr.people", "column_name": "ssn"}
    clients: dict[str, dict[str, Any]] = {
        "passed": {"add_table_propagation_rules": {"table_name": "hr.people", "dml_rule_name": "passed", **queues}},
        "applied": {"add_table_rules": {**about, **APPLY, "dml_rule_name": "applied"}},
        "dequeued": {
            "add_table_rules": {**about, "streams_type": "dequeue", "streams_name": "deq", "dml_rule_name": "dequeued"}
        },
    }
    calls = ({"add_table_rules": capture}, {"delete_column": hidden}, *clients.values())
    target = {"name": "site", "location": databases.target, "apply": "app"}
    functions = {"targets": [target], "functions": {"hr.marks": f"{__name__}:marks"}}
    channel = streams_channel(
        tmp_path, databases.source, *calls, *(called(one, "marks") for one in clients), **functions
    )
    channel.at_source("CREATE SCHEMA hr", "CREATE TABLE hr.people (id int PRIMARY KEY, name text, ssn text)")
    run(databases.target, "CREATE SCHEMA hr", "CREATE TABLE hr.people (id int PRIMARY KEY, name text)")
    channel.activate()
    channel.at_source("INSERT INTO hr.people VALUES (1, 'Ann', '123-45-6789')")
    channel.stage(flow.replicate)
    assert _names(channel, "q1") == ["Ann"] and _names(channel, "q2") == ["Ann, customised"]
    assert ask(databases.target, "SELECT * FROM hr.people") == [(1, "Ann, customised")]
    dequeued = [one.new for one in take(channel, "deq").messages if isinstance(one, RowLcr)]
    assert dequeued == ([{"id": 1, "name": "Ann, customised"}] if captured_by == "sync_capture" else [])
    for queue in ("q1", "q2"):
        assert b"123-45-6789" not in channel.bytes_of(queue)


def _names(channel: StreamsChannel, queue: str) -> list[str]:
    return [line.partition("'name': '")[2].partition("'")[0] for line in channel.content(queue)]
