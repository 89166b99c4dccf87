"""A rewind into an older server builds what that can have, and says beforehand what it can't."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.conftest import Databases
from tests.support.replayable import captured, read, replayable


@pytest.fixture
def older(pg15: PrivateServer) -> Iterator[str]:
    yield pg15.create_database("rewound")
    pg15.drop_database("rewound")


def test_what_the_place_can_not_have_is_left_out(databases: Databases, older: str, tmp_path: Path) -> None:
    replica = replayable(databases, tmp_path, location=older)
    replica.at_source(
        "create table public.t (id int primary key, code uuid default uuidv7(), n text,"
        " low text generated always as (lower(n)) stored, f text generated always as (casefold(n)) stored)",
        "insert into public.t (id, n) values (1, 'A')",
        "create table public.p (k text) partition by list (casefold(k))",
        "create table public.p1 partition of public.p for values in ('a')",
        "insert into public.p values ('A')",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source("alter table public.t add m int default 5", "insert into public.t (id, n) values (2, 'B')")
    now = captured(replica)

    plan, why = replica.plan_rewind(now), "calls casefold, which PostgreSQL 15 lacks"
    assert f"public.p: not built: the partition key LIST (casefold(k)) {why}" in plan.text()
    assert "public.p1: not built: it is a partition of public.p" in plan.text()
    done = replica.rewind(before)
    assert set(done.not_built) == {"public.p", "public.p1"}
    assert read(older, "SELECT id, n, low, f FROM public.t") == [(1, "A", "a", "a")]
    replica.rewind(now)
    assert read(older, "SELECT id, n, low, f, m FROM public.t ORDER BY id") == [
        (1, "A", "a", "a", 5),
        (2, "B", "b", "b", 5),
    ]
    codes = read(older, "SELECT count(DISTINCT code) FROM public.t")
    assert codes == [(2,)]


def test_a_column_that_is_archived_is_computed_where_the_server_can(
    databases: Databases, past: str, tmp_path: Path
) -> None:
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source(
        "create table public.t (id int primary key, n text, f text generated always as (casefold(n)) stored)",
        "insert into public.t (id, n) values (1, 'A')",
    )
    replica.activate()
    before = captured(replica)
    replica.rewind(before)
    assert read(past, "SELECT id, n, f FROM public.t") == [(1, "A", "a")]
    generated = "SELECT attgenerated::text FROM pg_attribute WHERE attrelid = 'public.t'::regclass AND attname = 'f'"
    assert read(past, generated) == [("s",)]
