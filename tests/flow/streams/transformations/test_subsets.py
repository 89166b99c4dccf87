"""Subset rules at a server: rows come into a subset and leave it, at the capture and at a propagation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.messaging import channel as message_channel
from tests.flow.streams.messaging import put, rules, take
from tests.flow.streams.messaging import row as message_of
from tests.flow.streams.streams_channel import CAPTURE, StreamsChannel, streams_channel

EMPLOYEES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.employees (employee_id int PRIMARY KEY, name text, salary numeric(8,2), department_id int)",
    "CREATE TABLE hr.locations (location_id int PRIMARY KEY, city text, postal_code text)",
    "ALTER TABLE hr.locations ALTER city SET STORAGE EXTERNAL",
)
EVERYTHING = {"add_global_rules": CAPTURE}
QUEUES = {"streams_name": "p", "source_queue_name": "q1", "destination_queue_name": "q2"}


def subset(of: dict[str, Any], condition: str, table: str = "hr.employees") -> dict[str, Any]:
    name = "add_subset_propagation_rules" if of is QUEUES else "add_subset_rules"
    return {name: {"table_name": table, "dml_condition": condition, **of}}


def begun(channel: StreamsChannel) -> StreamsChannel:
    channel.at_source(*EMPLOYEES)
    channel.activate()
    return channel


def row(number: int, department: int, salary: str = "100.50") -> str:
    values = {"employee_id": number, "name": "Ann", "salary": salary, "department_id": department}
    return str(values)


@pytest.mark.req("ST-U-22", "ST-U-23", "ST-U-30", "ST-R-08", "ST-R-17", "ST-R-07", "ST-U-10")
def test_rows_are_migrated_as_the_log_is_captured(databases: Any, tmp_path: Path) -> None:
    channel = begun(streams_channel(tmp_path, databases.source, subset(CAPTURE, "department_id = 50")))
    channel.at_source(
        "INSERT INTO hr.employees VALUES (1, 'Ann', 100.50, 80), (2, 'Ann', 100.50, 50), (3, 'Bob', 1, NULL)",
        "UPDATE hr.employees SET department_id = 50 WHERE employee_id = 1",
        "UPDATE hr.employees SET department_id = 80 WHERE employee_id = 3",
        "UPDATE hr.employees SET department_id = 20",
        "INSERT INTO hr.locations VALUES (1, 'Roma', '00989')",
    )
    channel.stage(flow.capture)
    assert channel.content("q1") == [
        f"INSERT hr.employees {row(2, 50)}",
        f"INSERT hr.employees {row(1, 50)}",
        f"DELETE hr.employees {row(2, 50)}",
        f"DELETE hr.employees {row(1, 50)}",
    ]


@pytest.mark.req("ST-U-24", "ST-U-25", "ST-U-30")
def test_rows_are_migrated_as_they_are_passed_on(databases: Any, tmp_path: Path) -> None:
    channel = begun(streams_channel(tmp_path, databases.source, EVERYTHING, subset(QUEUES, "department_id = 50")))
    channel.at_source(
        "INSERT INTO hr.employees VALUES (1, 'Ann', 100.50, 50)",
        "UPDATE hr.employees SET department_id = 80",
        "UPDATE hr.employees SET department_id = 50, salary = 7",
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    assert [line.split()[0] for line in channel.content("q1")] == ["INSERT", "UPDATE", "UPDATE"]
    assert channel.content("q2") == [
        f"INSERT hr.employees {row(1, 50)}",
        f"DELETE hr.employees {row(1, 50)}",
        f"INSERT hr.employees {row(1, 50, '7.00')}",
    ]


@pytest.mark.req("ST-U-15", "ST-U-06", "ST-U-07", "ST-U-11", "ST-U-12")
def test_null_is_judged_by_the_condition(databases: Any, tmp_path: Path) -> None:
    channel = begun(
        streams_channel(
            tmp_path, databases.source, EVERYTHING, subset(QUEUES, "department_id IS NULL OR department_id < 0")
        )
    )
    channel.at_source(
        "INSERT INTO hr.employees VALUES (1, 'Ann', 100.50, NULL), (2, 'Bob', 1, 50)",
        "UPDATE hr.employees SET department_id = 50 WHERE employee_id = 1",
        "UPDATE hr.employees SET department_id = NULL WHERE employee_id = 1",
        "UPDATE hr.employees SET department_id = NULL WHERE employee_id = 2",
        "DELETE FROM hr.employees WHERE employee_id = 1",
        "UPDATE hr.employees SET department_id = 7",
        "DELETE FROM hr.employees",
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    lines = [(line.split()[0], line.split("'employee_id': ")[1].strip("'")[0]) for line in channel.content("q2")]
    assert lines == [
        ("INSERT", "1"),
        ("DELETE", "1"),
        ("INSERT", "1"),
        ("INSERT", "2"),
        ("DELETE", "1"),
        ("DELETE", "2"),
    ]


@pytest.mark.req("ST-U-31", "ST-U-32", "ST-U-33")
@pytest.mark.parametrize("at", ["capture", "propagation"])
def test_the_log_has_the_columns_of_the_condition_and_of_the_destination(
    at: str, databases: Any, tmp_path: Path
) -> None:
    """The destination has no postal_code; the log has whole old rows nevertheless, values that did not change, too."""
    calls = [subset(CAPTURE, "postal_code = '00989'", "hr.locations"), {"add_global_propagation_rules": QUEUES}]
    if at == "propagation":
        calls = [EVERYTHING, subset(QUEUES, "postal_code = '00989'", "hr.locations")]
    columns = ",".join(("location_id", "city"))
    without = [
        {"keep_columns": {"rule_name": f"locations{number}", "table_name": "hr.locations", "column_list": columns}}
        for number in (1, 2, 3)
    ]
    names = dict(zip(("insert_rule_name", "update_rule_name", "delete_rule_name"), "123", strict=True))
    (of,) = [call for call in calls if "subset" in next(iter(call))]
    next(iter(of.values())).update({key: f"locations{number}" for key, number in names.items()})
    channel = begun(streams_channel(tmp_path, databases.source, *calls, *without))
    with psycopg.connect(channel.source) as connection:
        found = connection.execute("SELECT relreplident FROM pg_class WHERE oid = 'hr.locations'::regclass").fetchone()
        assert found == ("f",)
    channel.at_source(
        f"INSERT INTO hr.locations VALUES (1, '{'Roma' * 3000}', '11111')",
        "UPDATE hr.locations SET postal_code = '00989'",  # the city, which is stored apart, is not in the update
        "UPDATE hr.locations SET postal_code = '11111'",
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    values = {"location_id": 1, "city": "Roma" * 3000}
    assert channel.content("q2") == [f"INSERT hr.locations {values}", f"DELETE hr.locations {values}"]


@pytest.mark.req("ST-U-16")
def test_a_message_without_the_column_that_a_subset_needs_meets_none_of_its_rules(
    databases: Any, tmp_path: Path
) -> None:
    """Whether the row comes from inside the subset, or goes out of it, is not known: nothing is guessed."""
    hr = message_channel(tmp_path, databases.source, rules("subset", "inside"))
    lacking: dict[str, Any] = {"command": "UPDATE", "old": {"id": 7}}
    put(hr, message("hr.t", 1, id=1), message("hr.t", 1, **lacking, id=2), message("hr.t", 3, **lacking, id=3))
    put(hr, message("hr.t", 1, command="UPDATE", old={"k": 3}, id=4))
    found = take(hr, "inside")
    assert [one.command for one in found.messages if isinstance(one, RowLcr)] == ["INSERT", "INSERT"]
    assert {why.partition(" (")[0]: count for why, count in found.discarded.items()} == {
        "a subset rule needs a column that the change does not have": 2
    }


def message(table: str, k: int, *, id: int, command: str = "INSERT", **more: Any) -> dict[str, Any]:
    return {**message_of(table, k, command, **more), "new": {"k": k, "id": id}}
