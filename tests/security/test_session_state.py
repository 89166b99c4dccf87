"""Code at a target that changes or ends the session in which rows are written stops its table, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines.postgres.merge.constraints import Session
from airflow_ddlrepl.errors import TargetError
from tests.conftest import Databases
from tests.support.replica import BOTH, Replica, channel_file, run

ENCODING = "perform set_config('client_encoding', 'LATIN1', false)"
ROLE = "perform set_config('role', 'pg_monitor', true)"
END = "perform pg_terminate_backend(pg_backend_pid())"


def begin(databases: Databases, folder: Path, action: str) -> Replica:
    """A channel of three tables; at the target the second one's trigger acts on rows of id 666."""
    replica = Replica(databases.source, databases.target, channel_file(folder, databases.source, databases.target))
    replica.at_source(*(f"create table public.{name} (id int primary key, note text)" for name in "abc"))
    replica.begin()
    replica.at_target(
        f"create function public.act() returns trigger language plpgsql as $$ begin if new.id = 666 then {action};"
        " end if; return new; end $$",
        "create trigger act before insert on public.b for each row execute function public.act()",
        "alter table public.b enable always trigger act",
    )
    replica.at_source(*(f"insert into public.{name} values (1, 'grüße')" for name in "abc"))
    replica.settle()
    return replica


@BOTH
@pytest.mark.parametrize(("action", "code"), [(ENCODING, "INT-130"), (ROLE, "INT-130"), (END, "INT-131")])
def test_a_table_that_changes_or_ends_its_session_stops_alone(
    databases: Databases, tmp_path: Path, action: str, code: str
) -> None:
    replica = begin(databases, tmp_path, action)
    replica.at_source(*(f"insert into public.{name} values (666, 'süß')" for name in "abc"))
    with pytest.raises(TargetError, match=code) as raised:
        replica.replicate()
    assert raised.value.table == "public.b"
    for name in "ac":
        assert replica.rows(f"select note from public.{name} order by id") == [("grüße",), ("süß",)]
    assert replica.rows("select note from public.b") == [("grüße",)]
    replica.at_target("drop trigger act on public.b")
    replica.settle()


def test_unless_the_settings_are_looked_at_rows_would_be_committed(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "changed", lambda *_: "")
    replica = begin(databases, tmp_path, "perform set_config('search_path', 'nowhere', true)")
    replica.at_source("insert into public.b values (666, 'süß')")
    replica.settle()


@BOTH
def test_a_table_whose_load_ends_the_session_waits_alone(databases: Databases, tmp_path: Path) -> None:
    """A domain of the target's own, of the name of the source's, with a check that does it."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    end = "create function public.last(text) returns bool language plpgsql as $$ begin {}; return true; end $$"
    run(databases.source, "create domain public.d as text constraint c check (value <> '')")
    run(databases.target, end.format(END), "create domain public.d as text constraint c check (public.last(value))")
    replica.at_source(
        *(f"create table public.{name} (id int primary key, note text)" for name in "ac"),
        "create table public.b (id int primary key, note public.d)",
        *(f"insert into public.{name} values (1, 'grüße')" for name in "abc"),
    )
    with pytest.raises(TargetError, match="INT-131"):
        replica.begin()
    for name in "ac":
        assert replica.rows(f"select note from public.{name}") == [("grüße",)]
