"""Rewinds of a channel with properties: loads hold every column, and each place takes those that it is to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import HORIZON, captured, read
from tests.support.replica import Replica, channel_file

PROPERTIES: list[dict[str, object]] = [
    {"columns": "note|remark", "name": "comment"},
    {"columns": "secret", "absent": True},
    {"columns": "id", "name": "secret"},
]
TABLES = [{"tables": "t", "name": "other"}]


def replica_of(databases: Any, folder: Path, past: str, **sections: Any) -> Replica:
    file = channel_file(
        folder,
        databases.source,
        databases.target,
        rewind_horizon=HORIZON,
        replays=[{"name": "past", "location": past}],
        **sections,
    )
    return Replica(databases.source, databases.target, file)


@pytest.mark.parametrize("many", [False, True], ids=["one chunk", "several chunks"])
@pytest.mark.parametrize("kind", ["int", "mood"])
def test_a_place_is_filled_with_what_it_is_to_have(
    databases: Any, tmp_path: Path, past: str, kind: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The column that is absent there was kept with the others; another one has its name."""
    if many:
        monkeypatch.setattr("airflow_ddlrepl.engines.chunks.MINIMUM_BYTES", 4 * 8192)
    replica = replica_of(databases, tmp_path, past, column_properties=PROPERTIES, table_properties=TABLES)
    secret = "CASE i WHEN 1 THEN 'good' ELSE 'bad' END::mood" if kind == "mood" else "i"
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        f"CREATE TABLE t (id int PRIMARY KEY, note text, secret {kind} NOT NULL, n int)",
        f"INSERT INTO t SELECT i, i, {secret}, i FROM generate_series(1, {20000 if many else 3}) i",
    )
    replica.activate()
    replica.at_source("ALTER TABLE t RENAME note TO remark", "DELETE FROM t WHERE id > 2", "UPDATE t SET remark = 'x'")
    before = captured(replica)
    replica.at_source("ALTER TABLE t RENAME n TO m", "UPDATE t SET remark = 'later'", "DELETE FROM t WHERE id = 1")
    after = captured(replica)
    replica.rewind(before)
    found = "SELECT to_jsonb(o) FROM other o ORDER BY secret"
    assert read(past, found) == [({"secret": i, "comment": "x", "n": i},) for i in (1, 2)]
    replica.rewind(after, onward=True)
    assert read(past, found) == [({"secret": 2, "comment": "later", "m": 2},)]
    plan = replica.plan_rewind(before)
    assert plan.is_possible


@pytest.mark.parametrize("targets", [[], ["warehouse"], ["past"], ["warehouse", "past"]], ids=str)
def test_a_live_target_gets_back_what_its_own_properties_say(
    databases: Any, tmp_path: Path, past: str, targets: list[str]
) -> None:
    """It is built in the replay with the target's properties, whatever those of the replay are."""
    replica = replica_of(
        databases,
        tmp_path,
        past,
        column_properties=[{**one, "targets": targets} for one in PROPERTIES],
        table_properties=[{**one, "targets": targets} for one in TABLES],
    )
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, note text, secret int)", "INSERT INTO t VALUES (1, 'a', 1)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 'b', 2)")
    before = captured(replica)
    replica.at_source("ALTER TABLE t RENAME note TO remark", "UPDATE t SET remark = 'c' WHERE id = 2")
    captured(replica)
    is_there = "warehouse" in targets or not targets
    table, key = ("other", "secret") if is_there else ("t", "id")
    replica.at_target(f"UPDATE {table} SET {key} = 9 WHERE {key} = 1")
    assert replica.rewind(before, "warehouse").placed == {f"public.{table}": 2}
    replica.check_equal()
    names = {"secret", "comment"} if is_there else {"id", "remark", "secret"}
    assert {*replica.rows(f"SELECT to_jsonb(x) FROM {table} x")[0][0]} == names
    replica.at_source("INSERT INTO t VALUES (3, 'd', 3)", "ALTER TABLE t ADD z int DEFAULT 1")
    replica.settle()


def test_a_place_that_does_not_follow_takes_what_it_has_columns_for(databases: Any, tmp_path: Path, past: str) -> None:
    replica = replica_of(
        databases, tmp_path, past, column_properties=PROPERTIES[:2], defaults="hvr", adapt_ddl=[{"table": "other"}]
    )
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, note text, secret int)", "INSERT INTO t VALUES (1, 'a', 1)")
    replica.activate()
    replica.at_source("UPDATE t SET note = 'b', secret = 2")
    replica.replicate()
    replica.refresh("public.t")
    replica.at_source("UPDATE t SET note = 'c'")
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        at = str(run.captured())
    replica.rewind(at)
    assert read(past, "SELECT to_jsonb(t) FROM t") == replica.rows("SELECT to_jsonb(t) FROM t")
    assert replica.rows("SELECT to_jsonb(t) FROM t") == [({"id": 1, "comment": "c"},)]
