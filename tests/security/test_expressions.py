"""Expressions of a user of the source reach the target as expressions only, and call nothing that acts there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.adapt.shape import source_expressions
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import BOTH, Replica
from tests.support.small_roles import small_replica

ATTACKS = {
    "encoding": "set_config('client_encoding', 'latin1', false) is not null",
    "path": "set_config('search_path', 'mallory', false) is not null",
    "signal": "pg_terminate_backend(pg_backend_pid())",
    "cancel": "pg_cancel_backend(pg_backend_pid())",
    "notify": "pg_notify('leak', 'x') is null",
    "read": "query_to_xml('select nextval(''public.drawn'')', true, true, '') is not null",
    "rewrite": "ts_rewrite('a', 'select ''a''::tsquery, nextval(''public.drawn'')::text::tsquery') is not null",
    "message": "pg_logical_emit_message(true, 'ddlrepl', 'x') is not null",
    "lock": "pg_advisory_lock(1) is null",
    "object": "lo_create(0) > 0",
    "sequence": "nextval('public.drawn'::regclass) > 0",
    "setting": "(current_setting('is_superuser') is not null)",
}
"""What mallory's checks and defaults would do at the target; each is true there."""


def begin(databases: Databases, folder: Path) -> Replica:
    """A channel with small roles; the target has things that are nobody's business, which its role can reach."""
    replica = small_replica(databases, folder)
    for dsn in (replica.source, replica.target):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("create sequence public.drawn")
            connection.execute("grant all on sequence public.drawn to public")
            connection.execute("grant create on schema public to public")
    replica.at_source(
        "create table public.other (id int primary key, note text)",
        "insert into public.other values (1, 'grüße')",
        "grant select on public.other to public",
    )
    return replica


def at_target_only(attack: str) -> str:
    return f"(current_database() like 'source%' or {attack})"


def is_drawn(replica: Replica) -> Any:
    return replica.rows("select is_called from public.drawn")[0][0]


def large_objects(replica: Replica) -> Any:
    return replica.rows("select count(*) from pg_largeobject_metadata")[0][0]


@BOTH
def test_what_the_checks_of_a_domain_do_they_do_at_the_source_alone(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path)
    for name, attack in ATTACKS.items():
        replica.at_source(
            f"create domain public.d_{name} as text constraint {name} check ({at_target_only(attack)})",
            f"create table public.t_{name} (id int primary key, v public.d_{name})",
            f"insert into public.t_{name} values (1, 'ä')",
            f"grant select on public.t_{name} to public",
        )
    replica.activate()
    replica.check_equal()
    replica.at_source(*(f"insert into public.t_{name} values (2, 'ö')" for name in ATTACKS))
    replica.at_source(
        f"alter domain public.d_setting add constraint later check ({at_target_only(ATTACKS['sequence'])})",
        f"alter domain public.d_setting set default {ATTACKS['setting']}::text",
        "alter table public.t_setting add w public.d_setting",
        "insert into public.t_setting values (3, 'ü', 'é')",
        "insert into public.other values (2, 'größe')",
    )
    replica.settle()
    assert replica.rows("select conname from pg_constraint where contypid >= 16384") == []
    assert (is_drawn(replica), large_objects(replica)) == (False, 0)
    assert replica.rows("select note from public.other order by id") == [("grüße",), ("größe",)]
    with flow.open_channel(replica.file, InProcess()) as run:
        told = flow.status(run)
    assert "domain d_signal: the check signal calls pg_terminate_backend" in told.text()


@BOTH
def test_defaults_that_act_stay_at_the_source(databases: Databases, tmp_path: Path) -> None:
    replica = begin(databases, tmp_path)
    replica.at_source("create table public.t (id int primary key)", "grant select on public.t to public")
    replica.activate()
    replica.at_source("insert into public.t values (1)")
    for name, attack in ATTACKS.items():
        replica.at_source(f"alter table public.t add {name} bool not null default {at_target_only(attack)}")
    replica.at_source("insert into public.t values (2)")
    result = replica.settle()
    assert (is_drawn(replica), large_objects(replica)) == (False, 0)
    assert "the default" in result.text()
    assert "calls pg_terminate_backend, which no target runs for its source; it stays at the source" in result.text()
    assert replica.rows("select count(*) from pg_attrdef where adrelid = 'public.t'::regclass") == [(0,)]


@BOTH
def test_without_the_list_they_would_act(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack is one: without the gate the loading role draws from the sequence."""
    monkeypatch.setattr(source_expressions, "why_not", lambda *_: "")
    replica = begin(databases, tmp_path)
    replica.at_source(
        f"create domain public.d as text constraint c check ({at_target_only(ATTACKS['rewrite'])})",
        "create table public.t (id int primary key, v public.d)",
        "insert into public.t values (1, 'ä')",
        "grant select on public.t to public",
    )
    replica.activate()
    assert is_drawn(replica) is True
