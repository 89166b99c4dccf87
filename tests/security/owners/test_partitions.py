"""Partitions, and tables that ours are partitions of, belong to trusted roles: what is written to ours goes to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Databases
from tests.security.test_owners import BY, Planter, channel, refused

PARTITIONED = (
    "create table public.p (id int primary key, note text) partition by range (id)",
    "create table public.p1 partition of public.p for values from (0) to (10)",
    "create table public.other (id int primary key)",
    "insert into public.p values (1, 'secret')",
)


@BY
def test_a_partition_that_only_the_target_has_is_a_strangers(
    databases: Databases, tmp_path: Path, planter: Planter, role: str
) -> None:
    """Its check, index and triggers would run when our role empties, counts, or writes to the table above."""
    replica = channel(databases, tmp_path, role)
    replica.at_source(*PARTITIONED)
    replica.begin()
    replica.replicate()
    replica.at_target(
        "create table public.px partition of public.p default", f'alter table px owner to "{planter.name}"'
    )
    planter.does(
        "create index on public.px (public.spring_index(id))",
        "alter table public.px add check (public.spring())",
        "create trigger z before insert on public.px for each row execute function public.spring_row()",
        "alter table public.px enable always trigger z",
        "grant all on public.px to public",
    )
    replica.at_source("alter table public.p add more int default 1", "insert into public.other values (1)")
    error = refused(replica.replicate)
    assert f"table public.px belongs to {planter.name}" in error.message
    assert replica.rows("select count(*) from public.other") == [(1,)]
    assert "public.px belongs to" in replica.compare().text()
    refused(lambda: replica.refresh("public.p"))
    assert planter.has_gained_nothing(replica)
    replica.at_target("alter table public.p detach partition public.px")
    replica.settle()
    assert planter.has_gained_nothing(replica)


@pytest.mark.parametrize("role", ["superuser", "small"])
def test_a_partition_below_a_table_that_people_have_partitioned(
    databases: Databases, tmp_path: Path, planter: Planter, role: str
) -> None:
    replica = channel(databases, tmp_path, role)
    replica.at_source("create table public.t (id int primary key, note text)", "create table public.other (id int)")
    replica.begin()
    replica.replicate()
    owner = replica.rows("select tableowner from pg_tables where tablename = 't'")[0][0]
    replica.at_target(
        "drop table public.t; create table public.t (id int primary key, note text) partition by range (id)",
        f'alter table public.t owner to "{owner}"',
        f'create table public.t1 partition of public.t default; alter table public.t1 owner to "{planter.name}"',
    )
    planter.does("alter table public.t1 add check (public.spring())", "grant all on public.t1 to public")
    replica.at_source("insert into public.t values (1, 'secret')", "insert into public.other values (1)")
    error = refused(replica.replicate)
    assert error.table == "public.t" and "table public.t1 belongs to" in error.message
    assert replica.rows("select (select count(*) from public.t), (select count(*) from public.other)") == [(0, 1)]
    assert planter.has_gained_nothing(replica)


def test_a_table_that_ours_is_a_partition_of(databases: Databases, tmp_path: Path, planter: Planter) -> None:
    """An index that its owner makes there is made on ours, too."""
    replica = channel(databases, tmp_path)
    replica.at_source("create table public.t (id int primary key, note text)", "create table public.other (id int)")
    replica.begin()
    planter.does("create table public.hers (id int not null, note text) partition by range (id)")
    replica.at_target("alter table public.hers attach partition public.t default")
    planter.does("create index on public.hers (public.spring_index(id))")
    replica.at_source("insert into public.t values (1, 'secret')", "insert into public.other values (1)")
    error = refused(replica.replicate)
    assert error.table == "public.t" and "table public.hers belongs to" in error.message
    assert replica.rows("select (select count(*) from public.t), (select count(*) from public.other)") == [(0, 1)]
    assert planter.has_gained_nothing(replica)
