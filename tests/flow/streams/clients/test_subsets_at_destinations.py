"""Subsets behind a synchronous capture, and at an apply process whose queue others read, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

TABLE = ("CREATE SCHEMA hr", "CREATE TABLE hr.employees (id int PRIMARY KEY, name text, dept int)")
CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
SYNC = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q1", "table_name": "hr.employees"}
APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}
STAFF = "SELECT id, dept FROM hr.employees ORDER BY id"


def passing(source: str, to: str, condition: str = "") -> dict[str, Any]:
    queues = {"streams_name": f"to_{to}", "source_queue_name": source, "destination_queue_name": to}
    if condition:
        about = {"table_name": "hr.employees", "dml_condition": condition}
        return {"add_subset_propagation_rules": {**about, **queues}}
    return {"add_global_propagation_rules": queues}


def subset(of: dict[str, Any], condition: str) -> dict[str, Any]:
    return {"add_subset_rules": {"table_name": "hr.employees", "dml_condition": condition, **of}}


def begun(databases: Any, tmp_path: Path, *calls: dict[str, Any], more: tuple[str, ...] = ()) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target])
    channel.at_source(*TABLE, *more)
    run(databases.target, *TABLE)
    channel.activate()
    return channel


@pytest.mark.req("ST-U-34")
@pytest.mark.parametrize("at", ["capture", "propagation", "apply"])
def test_subsets_of_what_triggers_capture_need_nothing_of_the_log(at: str, databases: Any, tmp_path: Path) -> None:
    """The log has no old rows at all of this table, and the rules' columns are in no key."""
    condition = "dept = 50"
    calls = (
        subset(SYNC, condition) if at == "capture" else {"add_table_rules": SYNC},
        passing("q1", "q2", condition if at == "propagation" else ""),
        subset(APPLY, condition) if at == "apply" else {"add_global_rules": APPLY},
    )
    channel = begun(databases, tmp_path, *calls, more=("ALTER TABLE hr.employees REPLICA IDENTITY NOTHING",))
    channel.at_source(
        "INSERT INTO hr.employees VALUES (1, 'comes', 80), (2, 'leaves', 50), (3, 'stays', 50), (4, 'never', 80)",
        "UPDATE hr.employees SET dept = 50 WHERE id = 1",
        "UPDATE hr.employees SET dept = 80 WHERE id = 2",
    )
    channel.stage(flow.replicate)
    assert ask(databases.target, STAFF) == [(1, 50), (3, 50)]
    found = ask(databases.source, "SELECT relreplident FROM pg_class WHERE oid = 'hr.employees'::regclass")
    assert found in ([("n",)], [(b"n",)])


@pytest.mark.req("ST-U-38", "ST-U-42")
def test_an_apply_process_takes_a_subset_of_its_queue_and_another_queue_gets_all(
    databases: Any, tmp_path: Path
) -> None:
    """Rows that local sessions have put outside the subset stay where they are."""
    channel = begun(databases, tmp_path, CAPTURE, passing("q1", "q2"), passing("q2", "q4"), subset(APPLY, "dept = 50"))
    channel.at_source("INSERT INTO hr.employees VALUES (1, 'one', 50), (2, 'two', 80), (3, 'three', 50)")
    channel.stage(flow.replicate)
    assert ask(databases.target, STAFF) == [(1, 50), (3, 50)]
    run(
        databases.target,
        "INSERT INTO hr.employees VALUES (9, 'local', 30)",
        "UPDATE hr.employees SET dept = 30 WHERE id = 1",
    )
    channel.at_source(
        "UPDATE hr.employees SET dept = 50 WHERE id = 2", "UPDATE hr.employees SET dept = 80 WHERE id = 3"
    )
    channel.stage(flow.replicate)
    assert ask(databases.target, STAFF) == [(1, 30), (2, 50), (9, 30)]
    assert [line.split()[0] for line in channel.content("q4")] == ["INSERT"] * 3 + ["UPDATE"] * 2
    assert channel.stage(flow.instantiate, "site").outside == {"hr.employees": 2}
    assert ask(databases.target, STAFF) == [(1, 30), (2, 50), (9, 30)]


@pytest.mark.req("ST-U-37")
def test_a_propagation_counts_its_bytes_and_the_rows_that_it_migrates(databases: Any, tmp_path: Path) -> None:
    calls = (CAPTURE, passing("q1", "q2"), passing("q1", "q3", "dept = 50"))
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*TABLE)
    channel.activate()
    channel.at_source(
        "INSERT INTO hr.employees SELECT i, repeat(md5(i::text), 9), CASE WHEN i <= 2 THEN 50 ELSE 80 END"
        " FROM generate_series(1, 500) i",
        "UPDATE hr.employees SET dept = 80 WHERE id = 1",
        "UPDATE hr.employees SET dept = 50 WHERE id IN (3, 4)",
        "UPDATE hr.employees SET name = 'stays' WHERE id = 2",
    )
    channel.stage(flow.capture)
    found = channel.stage(flow.propagate)
    assert found.rows == {"to_q2": 504, "to_q3": 6}
    assert found.migrated == {"to_q2": 0, "to_q3": 3}
    assert 0 < found.bytes["to_q3"] * 2 < found.bytes["to_q2"]
    assert channel.stage(flow.propagate).bytes == {}
