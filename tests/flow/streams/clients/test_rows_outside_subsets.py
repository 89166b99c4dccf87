"""A target's table that receives the messages of subset rules: how many of its rows are outside the subset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.support.replica import BOTH, run

ALL = {"add_global_rules": CAPTURE}
TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.emp (id int PRIMARY KEY, name text, dept int, hired date)",
    "INSERT INTO hr.emp SELECT i, 'n', 10 * i, '2026-01-01' FROM generate_series(1, 9) i",
)
AT_TARGET = "INSERT INTO hr.emp VALUES (1, 'a', 50, NULL), (2, 'b', 30, NULL), (3, 'c', NULL, NULL), (4, 'd', 50, NULL)"


def subset(of: dict[str, Any], condition: str, name: str = "in", **more: Any) -> dict[str, Any]:
    about = {"table_name": "hr.emp", "dml_condition": condition, "insert_rule_name": name, "source_database": "dbs1"}
    return {"add_subset_rules": {**about, **of, **more}}


def begun(databases: Any, folder: Path, *calls: dict[str, Any], table: str = TABLES[1], **more: Any) -> StreamsChannel:
    """The target's table is there already, with rows of its own."""
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(folder, databases.source, *calls, targets=[target], **more)
    channel.at_source(*TABLES)
    run(databases.target, TABLES[0], table, AT_TARGET)
    channel.activate()
    return channel


def told(channel: StreamsChannel) -> tuple[dict[str, int], list[str]]:
    found = channel.stage(flow.instantiate, "site")
    return found.outside, [one for one in found.warnings if "do not meet" in one]


@pytest.mark.req("ST-U-39")
@BOTH
@pytest.mark.parametrize(
    ("condition", "outside"),
    [("dept = 50", 2), ("dept IN (50, 30)", 1), ("dept IS NULL OR dept > 10", 0), ("name > 'a' AND dept > 20", 2)],
)
def test_rows_that_do_not_meet_the_condition_are_counted(
    databases: Any, tmp_path: Path, condition: str, outside: int
) -> None:
    channel = begun(databases, tmp_path, ALL, subset(APPLY, condition))
    counts, warnings = told(channel)
    assert counts == ({"hr.emp": outside} if outside else {})
    text = f"hr.emp: {outside} rows do not meet the condition of subset rule in of apply process app"
    assert [one[: len(text)] for one in warnings] == ([text] if outside else [])


@pytest.mark.req("ST-U-39")
def test_the_subset_of_a_capture_under_the_names_that_the_target_has(databases: Any, tmp_path: Path) -> None:
    """Also a subset of a propagation, and rows of either of two subsets are inside."""
    queues = {"streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2"}
    passed = {"table_name": "hr.emp", "dml_rule_name": "passed", "source_database": "dbs1", **queues}
    renamed = {"rule_name": "passed", "table_name": "hr.emp", "from_column_name": "dept", "to_column_name": "d"}
    to_pub = {"rule_name": "passed", "from_table_name": "hr.emp", "to_table_name": "hr.emp2", "step_number": 1}
    channel = begun(
        databases,
        tmp_path,
        subset(CAPTURE, "dept = 50"),
        subset(CAPTURE, "dept = 60", "other"),
        {"add_table_propagation_rules": passed},
        {"rename_column": renamed},
        {"rename_table": to_pub},
        {"add_global_rules": {**APPLY, "queue_name": "q2"}},
    )
    run(
        databases.target,
        "CREATE TABLE hr.emp2 (id int PRIMARY KEY, name text, d int, hired date)",
        "INSERT INTO hr.emp2 VALUES (1, 'a', 50), (2, 'b', 60), (3, 'c', 70)",
    )
    counts, (warning,) = told(channel)
    assert counts == {"hr.emp2": 1}
    assert "subset rule in of capture process cap, or of subset rule other of capture process cap" in warning


@pytest.mark.req("ST-U-39")
def test_a_table_that_gets_other_rows_too_may_have_any(databases: Any, tmp_path: Path) -> None:
    whole = {"add_table_rules": {**APPLY, "table_name": "hr.emp"}}
    assert told(begun(databases, tmp_path, ALL, subset(APPLY, "dept = 50"), whole)) == ({}, [])


def test_what_this_server_cannot_count_is_told(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, subset(APPLY, "dept / 3 > 1"))
    found = channel.stage(flow.instantiate, "site")
    assert found.outside == {}
    assert any("this server can't count the rows that do not meet" in one for one in found.warnings)


def test_a_table_that_is_loaded_has_no_row_outside(databases: Any, tmp_path: Path) -> None:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, ALL, subset(APPLY, "dept = 50"), targets=[target])
    channel.at_source(*TABLES)
    channel.activate()
    assert channel.stage(flow.instantiate, "site").rows == {"hr.emp": 1}
    assert told(channel) == ({}, [])
    run(databases.target, "INSERT INTO hr.emp VALUES (90, 'local', 30)")
    assert told(channel)[0] == {"hr.emp": 1}
