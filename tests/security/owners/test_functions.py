"""Functions that a trusted role's table calls belong to trusted roles: their owners can replace what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Databases
from tests.security.test_owners import BY, Planter, channel, refused
from tests.support.replica import BOTH

HARMLESS = (
    "create function public.plain(int) returns int immutable language sql as 'select $1'",
    "create function public.is_fine(int) returns boolean immutable language sql as 'select true'",
    "create operator public.<=# (leftarg = int, rightarg = int, function = public.is_less)",
)
LESS = "create function public.is_less(int, int) returns boolean immutable language sql as 'select true'"
HARMFUL = (
    "create or replace function public.plain(int) returns int immutable language plpgsql as"
    " $$ begin perform public.spring(); return $1; end $$",
    "create or replace function public.is_fine(int) returns boolean immutable language plpgsql as"
    " $$ begin return public.spring(); end $$",
    "create or replace function public.is_less(int, int) returns boolean immutable language plpgsql as"
    " $$ begin return public.spring(); end $$",
)
TRIGGER = (
    "create function public.of_ours() returns trigger language plpgsql as 'begin return new; end'",
    "create trigger z before insert on public.t for each row when (public.is_fine(new.id))"
    " execute function public.of_ours()",
    "alter table public.t enable always trigger z",
)
CALLS = {
    "an index": ("create index on public.t (public.plain(id))",),
    "the condition of an index": ("create index on public.t (id) where public.is_fine(id)",),
    "a check": ("alter table public.t add check (public.is_fine(id))",),
    "an operator": ("alter table public.t add check (id operator(public.<=#) 7)",),
    "a default": ("alter table public.t add own int default public.plain(1)",),
    "a generated column": ("alter table public.t add own int generated always as (public.plain(id)) stored",),
    "a rule": ("create rule r as on insert to public.t where public.is_fine(new.id) do also select 1",),
    "the condition of a trigger": TRIGGER,
}


@BY
@pytest.mark.parametrize("call", CALLS)
def test_a_function_of_a_stranger_that_a_trusted_table_calls(
    databases: Databases, tmp_path: Path, planter: Planter, role: str, call: str
) -> None:
    """People with rights have used it in good faith; then its owner makes another one of it."""
    replica = channel(databases, tmp_path, role)
    replica.at_source("create table public.t (id int primary key, note text)", "create table public.other (id int)")
    replica.begin()
    planter.does(LESS, *HARMLESS)
    replica.at_target(*CALLS[call])
    planter.does(*HARMFUL)
    replica.at_source("insert into public.t values (1, 'secret')", "insert into public.other values (1)")
    error = refused(replica.replicate)
    assert error.table == "public.t"
    assert f"belongs to {planter.name}, who has it run, by a trigger, an index, a check or a default" in error.message
    assert replica.rows("select (select count(*) from public.t), (select count(*) from public.other)") == [(0, 1)]
    refused(lambda: replica.refresh("public.t"))
    assert planter.has_gained_nothing(replica)


@BOTH
def test_the_check_of_a_trusted_domain_and_a_partition_key(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    replica = channel(databases, tmp_path)
    replica.at_source(
        "create table public.t (id int primary key, note text)", "create table public.p (id int primary key)"
    )
    planter.does(LESS, *HARMLESS)
    replica.at_target(
        "create domain public.note as text check (public.is_fine(1))",
        "create table public.t (id int primary key, note public.note)",
        "create table public.q (id int, note text) partition by list (public.plain(id))",
    )
    replica.at_source("create table public.q (id int, note text)", "insert into public.t values (1, 'secret')")
    planter.does(*HARMFUL)
    message = refused(replica.begin).message
    assert message.startswith(
        ("function public.is_fine(integer) belongs to", "function public.plain(integer) belongs to")
    )
    assert planter.has_gained_nothing(replica)


def test_a_function_of_a_trusted_role_is_called(databases: Databases, tmp_path: Path, planter: Planter) -> None:
    more: dict[str, Any] = {
        "targets": [{"name": "warehouse", "location": databases.target, "trusted_owners": [planter.name]}]
    }
    replica = channel(databases, tmp_path, **more)
    replica.at_source("create table public.t (id int primary key, note text)")
    replica.begin()
    planter.does(LESS, *HARMLESS)
    replica.at_target("create index on public.t (public.plain(id))")
    replica.at_source("insert into public.t values (1, 'told')")
    replica.settle()
