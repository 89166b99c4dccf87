"""Somebody changes the channel's publication: tables that lack rows in the log are loaded again, and no others."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import BOTH, Make, Replica

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
