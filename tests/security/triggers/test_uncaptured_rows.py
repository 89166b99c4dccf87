"""Row changes that no trigger captured are missing at a target: each run says so until the table is loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.cycle.run_clients import has_queued
from tests.conftest import Databases
from tests.flow.streams.streams_channel import APPLY, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import BOTH, run

SYNC = {"streams_type": "sync_capture", "streams_name": "sync", "queue_name": "q1"}
TABLES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.t (id int PRIMARY KEY, v text)",
    "CREATE TABLE hr.u (id int PRIMARY KEY)",
    "INSERT INTO hr.t VALUES (1, 'one')",
)


def begun(databases: Databases, folder: Path) -> StreamsChannel:
    calls = [{"add_table_rules": {**of, "table_name": name}} for of in (SYNC, APPLY) for name in ("hr.t", "hr.u")]
    targets = [{"name": "site", "location": databases.target, "apply": "app"}]
    channel = streams_channel(folder, databases.source, *calls, targets=targets)
    channel.at_source(*TABLES)
    channel.activate(load=True)
    channel.stage(flow.replicate)
    return channel


def fails(channel: StreamsChannel, code: str) -> str:
    with pytest.raises(DdlReplError, match=code) as error:
        channel.stage(flow.replicate)
    return str(error.value)


def lacking(channel: StreamsChannel) -> list[str]:
    (state,) = channel.stage(flow.status).to_json()["apply"]
    return list(state["lacking"])


def same(databases: Databases, *tables: str) -> bool:
    return all(
        ask(databases.source, f"TABLE {t} ORDER BY 1") == ask(databases.target, f"TABLE {t} ORDER BY 1") for t in tables
    )


@BOTH
def test_a_target_lacks_rows_until_it_has_loaded_the_table_again(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path)
    channel.at_source(
        "ALTER TABLE hr.t DISABLE TRIGGER ALL; INSERT INTO hr.t VALUES (2, 'lost'); DELETE FROM hr.t WHERE id = 1;"
        " ALTER TABLE hr.t ENABLE TRIGGER ALL",
        "INSERT INTO hr.u VALUES (1)",
    )
    assert "hr.t between 0/" in fails(channel, "SRC-193")
    channel.at_source("INSERT INTO hr.u VALUES (2)", "INSERT INTO hr.t VALUES (3, 'three')")
    fails(channel, "SRC-193")
    assert same(databases, "hr.u") and not same(databases, "hr.t")
    (told,) = lacking(channel)
    assert told.startswith("hr.t may lack changes from before 0/")
    channel.activate(load=True)
    channel.at_source("INSERT INTO hr.u VALUES (3)")
    for _ in range(2):
        assert "hr.t may lack changes" in fails(channel, "APL-138")
    assert channel.stage(has_queued)
    assert same(databases, "hr.u")
    run(databases.target, "DROP TABLE hr.t")
    channel.activate(load=True)
    channel.at_source("INSERT INTO hr.t VALUES (4, 'four')")
    assert channel.stage(flow.replicate).apply.warnings == ()
    assert same(databases, "hr.t", "hr.u") and lacking(channel) == [] and not channel.stage(has_queued)


def test_a_truncate_that_was_not_captured_is_told_by_each_run_and_the_status(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path)
    channel.at_source("TRUNCATE hr.t")
    for _ in range(2):
        told = channel.stage(flow.replicate).apply.warnings
        assert len(told) == 1 and "hr.t may have rows that are gone" in told[0], told
    assert [one.split(" ")[0] for one in lacking(channel)] == ["hr.t"]
    run(databases.target, "DROP TABLE hr.t")
    channel.activate(load=True)
    assert channel.stage(flow.replicate).apply.warnings == () and same(databases, "hr.t") and lacking(channel) == []


def test_a_person_says_that_the_rows_are_equal_now(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path)
    channel.at_source("ALTER TABLE hr.t DISABLE TRIGGER ALL; INSERT INTO hr.t VALUES (2, 'lost')")
    fails(channel, "SRC-193")
    run(databases.target, "INSERT INTO hr.t VALUES (2, 'lost')")
    ((position,),) = ask(databases.source, "SELECT (pg_current_wal_lsn() - '0/0')::bigint")
    given = {"source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": int(position)}
    calls = [{"add_table_rules": {**of, "table_name": name}} for of in (SYNC, APPLY) for name in ("hr.t", "hr.u")]
    channel.change(calls=[*calls, {"set_table_instantiation_scn": given}])
    channel.activate(load=True)
    channel.stage(flow.replicate)
    assert same(databases, "hr.t") and lacking(channel) == []


def test_a_table_that_joins_beside_one_whose_rows_are_missing_is_loaded(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path)
    channel.at_source(
        "CREATE TABLE hr.v (id int PRIMARY KEY); INSERT INTO hr.v VALUES (1)",
        "ALTER TABLE hr.t DISABLE TRIGGER ALL; INSERT INTO hr.t VALUES (2, 'lost')",
    )
    names = ("hr.t", "hr.u", "hr.v")
    channel.change(calls=[{"add_table_rules": {**of, "table_name": name}} for of in (SYNC, APPLY) for name in names])
    fails(channel, "SRC-193")
    channel.at_source("INSERT INTO hr.v VALUES (2)")
    fails(channel, "SRC-193")
    assert same(databases, "hr.v")
