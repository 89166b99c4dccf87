"""Somebody changes the channel's publication: tables that lack rows in the log are loaded again, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make, Replica, channel_file
from tests.support.small_roles import made

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v int)",
    "INSERT INTO t VALUES (1, 1)",
    "CREATE TABLE u (id int PRIMARY KEY, v int)",
    "INSERT INTO u VALUES (1, 1)",
)
ROWS = ("INSERT INTO t VALUES (2, 2), (3, 3)", "UPDATE t SET v = 7 WHERE id = 1", "INSERT INTO u VALUES (2, 2)")
COMPLETE = "ALTER PUBLICATION ddlrepl_shop SET (publish = 'insert, update, delete, truncate')"
AWAY = {
    "taken out": (
        ["ALTER PUBLICATION ddlrepl_shop DROP TABLE t"],
        ["ALTER PUBLICATION ddlrepl_shop ADD TABLE ONLY t"],
        {"public.t"},
    ),
    "a row filter": (
        ["ALTER PUBLICATION ddlrepl_shop SET TABLE t WHERE (id < 0), u"],
        ["ALTER PUBLICATION ddlrepl_shop SET TABLE t, u"],
        {"public.t"},
    ),
    "columns": (
        ["ALTER PUBLICATION ddlrepl_shop SET TABLE t (id), u"],
        ["ALTER PUBLICATION ddlrepl_shop SET TABLE t, u"],
        {"public.t"},
    ),
    "inserts only": (
        ["ALTER PUBLICATION ddlrepl_shop SET (publish = 'delete')"],
        [COMPLETE],
        {"public.t", "public.u"},
    ),
}
silent = pytest.mark.parametrize("is_silent", [False, True], ids=["recorded", "silent"])


def at_source(replica: Replica, *statements: str, is_silent: bool = False) -> None:
    """silent: with event triggers off, as a superuser may."""
    with psycopg.connect(replica.source, autocommit=True) as session:
        if is_silent:
            session.execute("SET event_triggers = off")
        for statement in statements:
            session.execute(statement.encode())


@silent
@pytest.mark.parametrize("change", AWAY)
def test_wrong_for_a_while_and_right_again(make: Make, change: str, is_silent: bool) -> None:
    replica = make(*TABLES)
    replica.settle()
    wrong, right, loaded = AWAY[change]
    at_source(replica, *wrong, *ROWS, *right, is_silent=is_silent)
    found = replica.settle()
    assert found.refresh.tables.keys() == loaded
    assert all("publication" in why or "log" in why for why in found.refresh.reasons.values()), found.refresh.reasons
    replica.at_source("INSERT INTO t VALUES (9, 9)")
    assert not replica.settle().refresh.tables


@BOTH
def test_other_changes_load_nothing(databases: Any, make: Make) -> None:
    replica = make(*TABLES, "CREATE PUBLICATION other FOR TABLE t")
    replica.settle()
    replica.at_source(
        "ALTER PUBLICATION ddlrepl_shop OWNER TO CURRENT_USER",
        COMPLETE,
        "ALTER PUBLICATION other SET (publish = 'insert')",
        "ALTER PUBLICATION other SET TABLE u WHERE (id < 0)",
        *ROWS,
        "DROP PUBLICATION other",
    )
    assert not replica.settle().refresh.tables


def test_options_that_lose_rows_stop_the_run_until_they_are_right(make: Make) -> None:
    replica = make(*TABLES)
    replica.settle()
    replica.at_source("ALTER PUBLICATION ddlrepl_shop SET (publish = 'insert')", *ROWS)
    with pytest.raises(DdlReplError, match="SRC-108"):
        replica.replicate()
    replica.at_source(COMPLETE)
    assert replica.settle().refresh.tables.keys() == {"public.t", "public.u"}


@pytest.mark.parametrize("change", ["a row filter", "columns"])
def test_a_table_that_is_published_in_part_fails_the_run_by_name_until_it_is_whole(make: Make, change: str) -> None:
    replica = make(*TABLES)
    replica.settle()
    wrong, right, _ = AWAY[change]
    at_source(replica, *wrong, *ROWS)
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"SRC-126.*public\.t"):
            replica.replicate()
        replica.at_source("INSERT INTO u SELECT max(id) + 1 FROM u")
    assert replica.rows("SELECT max(id) FROM u") == [(3,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        (told,) = flow.status(run).left_out
    assert told["table"] == "public.t" and "leaves out rows or columns" in told["why"]
    at_source(replica, *right)
    assert replica.settle().refresh.tables.keys() >= {"public.t"}


@BOTH
def test_a_role_that_may_publishes_it_whole_again(databases: Any, tmp_path: Path) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*TABLES)
    replica.activate()
    replica.replicate()
    replica.at_source(*AWAY["a row filter"][0], *ROWS)
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    replica.at_source("INSERT INTO t VALUES (9, 9)")
    assert not replica.settle().refresh.tables


def test_an_administrators_publication_that_filters_rows_leaves_the_table_out(databases: Any, tmp_path: Path) -> None:
    reader = made(databases.server, databases.source, "the reading role")
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, reader, databases.target))
    replica.at_source(*TABLES, "CREATE PUBLICATION ddlrepl_shop FOR TABLE t WHERE (id > 5), u")
    replica.activate()
    replica.at_source("INSERT INTO u VALUES (2, 2)")
    replica.settle(left_out=["public.t"])


def test_generated_columns_that_are_not_published_any_more(make: Make) -> None:
    """The target computes one; another one it can't, so that each cycle with rows loads the table."""
    replica = make(
        "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 3'",
        "CREATE TABLE g (id int PRIMARY KEY, s int GENERATED ALWAYS AS (id * 2) STORED)",
        "CREATE TABLE h (id int PRIMARY KEY, s int GENERATED ALWAYS AS (f(id)) STORED)",
    )
    replica.settle()
    replica.at_source("ALTER PUBLICATION ddlrepl_shop SET (publish_generated_columns = none)")
    for _ in range(2):
        replica.at_source("INSERT INTO g SELECT count(*) FROM g", "INSERT INTO h SELECT count(*) FROM h")
        replica.settle()
    replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO g SELECT count(*) FROM g", "INSERT INTO h SELECT count(*) FROM h")
    assert not replica.settle().refresh.tables


def test_statements_of_the_application_that_the_server_refuses_are_told(make: Make) -> None:
    replica = make(*TABLES, "CREATE TABLE f (id int PRIMARY KEY, v int)", "CREATE TABLE stranger (id int)")
    at_source(replica, "ALTER TABLE t REPLICA IDENTITY NOTHING", is_silent=True)
    replica.at_source("ALTER PUBLICATION ddlrepl_shop SET TABLE t, u (v), f WHERE (v > 0)")
    with flow.open_channel(replica.file, InProcess()) as run:
        told = [one for one in flow.status(run).setup["problems"] if "refuses" in one]
    assert [one.partition(":")[0] for one in sorted(told)] == [
        f"the server refuses UPDATE and DELETE of public.{name}" for name in ("f", "t", "u")
    ]
    for name in ("f", "t", "u"):
        with pytest.raises(psycopg.Error, match=f'cannot update table "{name}"'):
            replica.at_source(f"UPDATE {name} SET v = 1")
