"""Statements that run as text at a target (`replay_ddl`, a Replicat) carry no code of the source's users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.flow.apply.test_replay_ddl import ENTRY, T, begin
from tests.support.replica import Make, Replica, activating
from tests.support.replicating import MAPS, replicat

CALLING = (
    "ALTER TABLE {} ADD x text DEFAULT set_config('role', 'none', true)",
    "ALTER TABLE {} ADD x int DEFAULT public.own(1)",
    "ALTER TABLE {} ADD CHECK (ts_rewrite('a', 'SELECT ''a''::tsquery, ''b''::tsquery') IS NOT NULL)",
    "CREATE INDEX ON {} (public.own(id))",
    "ALTER TABLE {} ADD x int GENERATED ALWAYS AS (public.own(id)) STORED",
)
OWN = "CREATE FUNCTION public.own(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'"
NAMES = (
    'a"b', "$x$", "€$x$", "a; DROP TABLE victim; --", "/* x", "*/", "--", "it's", "\\", "x$$y", "%s", "{0}", "a.b",
    "SELECT", "é", "U&\\0041", "a\tb", "'); DROP TABLE victim; --", "a b", "€", "$€$ x $€$",
)  # fmt: skip


@pytest.fixture
def make(databases: Databases, tmp_path: Path) -> Make:
    """An activated channel, with a superuser at the target: a text that ran would reach everything there."""

    return activating(databases, tmp_path)


def refused(replica: Replica) -> DdlReplError:
    with pytest.raises(DdlReplError) as found:
        replica.replicate()
    return found.value


@pytest.mark.parametrize("text", CALLING)
def test_a_text_that_calls_more_is_refused(databases: Databases, tmp_path: Path, text: str) -> None:
    """The same function is there at the target, too: whoever may alter a table at the source does not call it."""
    replica = begin(databases, tmp_path, OWN, *T)
    replica.at_target(OWN)
    before = replica.rows("SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass")
    replica.at_source("INSERT INTO t VALUES (21, 21, 'before')", text.format("t"))
    error = refused(replica)
    assert (error.code, "which may do more than compute a value" in error.message) == ("ADP-151", True)
    assert replica.rows("SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass") == before
    assert replica.rows("SELECT max(id) FROM t") == [(21,)], "what came before it is applied"


def test_a_file_that_says_so_runs_expressions(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path, OWN, *T, replay_ddl=[{**ENTRY, "code": ["expression"]}])
    replica.at_target(OWN)
    replica.at_source("ALTER TABLE t ADD CHECK (public.own(id) > 0)", "INSERT INTO t VALUES (21, 21, 'x')")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM pg_constraint WHERE conname LIKE 't_%check'") == [(1,)]


@pytest.mark.parametrize("text", CALLING[1:4:2])
def test_a_replicat_runs_no_text_that_calls_more(make: Make, databases: Any, text: str) -> None:
    made = replicat(make, databases, OWN)
    made.at_target(OWN)
    made.at_source(text.format("hr.pay"))
    assert "which may do more than compute a value" in refused(made).message
    assert made.rows("SELECT count(*) FROM pg_index WHERE indrelid = 'bk.bak_pay'::regclass") == [(1,)]


def test_names_of_any_kind_are_names_for_a_replicat(make: Make, databases: Any) -> None:
    """Tables, columns and indexes with quotes, comments, dollars and other statements in their names."""
    victim = "CREATE TABLE hr.victim (id int PRIMARY KEY)"
    made = replicat(make, databases, victim, "INSERT INTO hr.victim VALUES (1)", maps=MAPS)
    for number, name in enumerate(NAMES):
        quoted = '"' + name.replace('"', '""') + '"'
        made.at_source(
            f"CREATE TABLE hr.{quoted} (id int PRIMARY KEY, {quoted} int)",
            f"INSERT INTO hr.{quoted} VALUES ({number}, 1)",
            f"ALTER TABLE hr.{quoted} ADD more int, ALTER COLUMN {quoted} TYPE bigint",
            f"CREATE INDEX i{number} ON hr.{quoted} ({quoted})",
            f"ALTER TABLE hr.{quoted} RENAME COLUMN {quoted} TO renamed",
            f"UPDATE hr.{quoted} SET renamed = 2",
        )
    made.settle()
    found = made.rows(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'bk'::regnamespace AND relname LIKE 'bak%'"
    )
    assert {name for (name,) in found} == {"bak_pay", "bak_tmp", "bak_victim", *(f"bak_{name}" for name in NAMES)}
    for name in NAMES:
        quoted = '"bak_' + name.replace('"', '""') + '"'
        assert made.rows(f"SELECT renamed::int, more FROM bk.{quoted}") == [(2, None)], name
    assert made.rows("SELECT id FROM bk.bak_victim") == [(1,)]
