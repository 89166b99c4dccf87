"""Where a rewind may build its tables, and what it leaves alone there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt, ControlStop
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, read, replayable
from tests.support.replica import run


def test_a_table_of_somebody_else_is_in_the_way(databases: Any, past: str, tmp_path: Path) -> None:
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    now = captured(replica)
    with psycopg.connect(past) as connection:
        connection.execute("CREATE TABLE t (mine text)")
        connection.execute("INSERT INTO t VALUES ('precious')")
    plan = replica.plan_rewind(now)
    assert not plan.is_possible and plan.to_json()["in_the_way"] == ["table public.t"]
    with pytest.raises(CannotAdapt, match=r"REW-105: objects that the rewind did not create .*: table public\.t\n"):
        replica.rewind(now)
    assert read(past, "SELECT * FROM t") == [("precious",)]


def test_a_table_of_somebody_else_under_a_name_that_a_rewind_did_not_come_to(
    databases: Any, past: str, tmp_path: Path
) -> None:
    """It stopped before; the next one does not take the table for its own."""
    stops = [{"on_add_column_with_default": "FAIL_INTEG_JOB"}]
    replica = replayable(databases, tmp_path, location=past, adapt_ddl=stops)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    replica.at_source("ALTER TABLE t ADD n int DEFAULT 4", "CREATE TABLE u (id int)", "CREATE TYPE mood AS ENUM ('a')")
    replica.at_source("ALTER TABLE u ADD m mood")
    now = captured(replica)
    with pytest.raises(ControlStop):
        replica.rewind(now)
    with psycopg.connect(past) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('mine')")
        connection.execute("CREATE TABLE u (mine mood)")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        (control,) = cycle.repository.controls("shop", "past")
        cycle.repository.remove_control("shop", control.id)
    with pytest.raises(CannotAdapt, match=r"REW-105: .* table public\.u, type public\.mood\n"):
        replica.rewind(now)
    assert read(past, "SELECT mine FROM u") == []
    with psycopg.connect(past) as connection:
        connection.execute("DROP TABLE u")
        connection.execute("DROP TYPE mood")
    replica.rewind(now)
    assert read(past, "SELECT id FROM t") == [(1,)]


def test_what_a_rewind_left_before_the_channel_was_deactivated(databases: Any, past: str, tmp_path: Path) -> None:
    """The plan names it, and the statements that remove it; with them the rewind goes on."""
    targets = [{"name": "warehouse", "location": databases.target, "existing_tables": "replace"}]
    replica = replayable(databases, tmp_path, location=past, targets=targets)
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('a')",
        "CREATE TABLE t (id int PRIMARY KEY, m mood)",
        "CREATE TABLE u (id int PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'a')",
    )
    replica.activate()
    replica.rewind(captured(replica))
    assert replica.plan_rewind(captured(replica)).removed == ["public.t", "public.u"]
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)
    replica.activate()
    now = captured(replica)
    plan = replica.plan_rewind(now)
    told = ["table public.t", "table public.u", "type public.mood"]
    assert plan.to_json()["in_the_way"] == told and plan.removed == [] and not plan.is_possible
    statements = 'DROP TABLE "public"."t", "public"."u"; DROP TYPE "public"."mood"'
    assert statements in plan.text()
    with pytest.raises(CannotAdapt, match="REW-105") as caught:
        replica.rewind(now)
    assert statements in caught.value.hint
    run(past, *statements.split("; "))
    assert replica.plan_rewind(now).is_possible
    replica.rewind(now)
    assert read(past, "SELECT id FROM t") == [(1,)]


def test_a_multirange_goes_with_its_range(databases: Any, past: str, tmp_path: Path) -> None:
    """Another type has its name later: the plan does not take what the earlier rewind left for somebody else's."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source(
        "CREATE TYPE span AS RANGE (subtype = int4)",
        "CREATE TABLE t (id int PRIMARY KEY, s span)",
        "INSERT INTO t VALUES (1, '[1,2)')",
    )
    replica.activate()
    replica.rewind(captured(replica))
    replica.at_source(
        "ALTER TYPE span_multirange RENAME TO all_spans",
        "CREATE TYPE span_multirange AS ENUM ('wide')",
        "ALTER TABLE t ADD w span_multirange",
        "UPDATE t SET w = 'wide'",
    )
    now = captured(replica)
    assert replica.plan_rewind(now).to_json()["in_the_way"] == []
    replica.rewind(now)
    assert read(past, "SELECT s::text, w::text FROM t") == [("[1,2)", "wide")]


@pytest.mark.parametrize("existing", ["refuse", "replace"])
def test_beside_the_target_without_schemas_of_its_own(databases: Any, tmp_path: Path, existing: str) -> None:
    """The live tables, empty ones and those that are created on the way too, are not its to write."""
    replica = replayable(databases, tmp_path, location=databases.target, existing_tables=existing)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    now = captured(replica)
    for table in ("t", "u"):
        with pytest.raises(CannotAdapt, match=rf"REW-105: .* table public\.{table}\n  hint: give the replay"):
            replica.rewind(now, tables=[f"public.{table}"])
    replica.check_equal()
    assert replica.rows("SELECT * FROM u") == [(1,)]


def test_types_of_the_live_tables_are_not_a_rewinds_to_change(databases: Any, tmp_path: Path) -> None:
    replica = replayable(databases, tmp_path, location=databases.target, schemas={"public": "earlier"})
    replica.at_source("CREATE TYPE mood AS ENUM ('calm')", "CREATE TABLE t (id int PRIMARY KEY, m mood)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'", "INSERT INTO t VALUES (1, 'quiet')")
    captured(replica)
    with pytest.raises(CannotAdapt, match=r"REW-105: .*: type public\.mood\n  hint: give the replay"):
        replica.rewind(before)
    assert replica.rows("SELECT enum_range(NULL::mood)::text") == [("{quiet}",)]
    replica.check_equal()


def test_beside_the_target_in_another_schema(databases: Any, tmp_path: Path) -> None:
    """The live tables, and what the target knows of its position, stay as they are."""
    replica = replayable(databases, tmp_path, location=databases.target, schemas={"public": "earlier"})
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 2)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP a", "INSERT INTO t VALUES (2)")
    captured(replica)
    replica.rewind(before)
    assert replica.rows("SELECT * FROM earlier.t") == [(1, 2)]
    replica.at_source("INSERT INTO t VALUES (3)")
    replica.settle()
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1,), (2,), (3,)]
    assert replica.rows("SELECT * FROM earlier.t") == [(1, 2)]


def test_deactivation_forgets_where_a_replay_stood(databases: Any, past: str, tmp_path: Path) -> None:
    """The next channel of that name begins there as if nobody had been."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    replica.rewind(captured(replica))
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)
    assert read(past, "SELECT to_regnamespace('ddlrepl'), (SELECT count(*) FROM t)") == [(None, 1)]
    assert replica.rows("SELECT to_regnamespace('ddlrepl')") == [(None,)]


def test_a_view_of_somebody_else_on_a_table_of_a_rewind(databases: Any, past: str, tmp_path: Path) -> None:
    """The next rewind to an earlier point would have to drop the table under it."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    before = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.rewind(captured(replica))
    run(past, "CREATE VIEW report AS SELECT id FROM t")
    with pytest.raises(CannotAdapt, match=r"REW-104: .*view public.report depends on table public.t") as caught:
        replica.rewind(before)
    assert caught.value.table == "public.t"
    assert read(past, "SELECT id FROM report ORDER BY id") == [(1,), (2,)]
    run(past, "DROP VIEW report")
    replica.rewind(before)
    assert read(past, "SELECT id FROM t") == [(1,)]
