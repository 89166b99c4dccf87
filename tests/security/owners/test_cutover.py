"""A cut-over runs no code of a stranger at the target, and tells what belongs to one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotCutOver, DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.admin.test_cutover_check import check
from tests.security.test_owners import BY, Planter, channel, refused
from tests.support.replica import BOTH, Replica


def found(replica: Replica, code: str, *, compares: bool = False) -> str:
    conditions = check(replica, compares=compares).conditions
    return "; ".join(text for one in conditions if one.code.value == code for text in one.found)


def cut_over(replica: Replica, *accepted: str, compares: bool = True) -> DdlReplError | None:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        try:
            flow.cut_over(cycle, accepted, compares=compares)
        except DdlReplError as error:
            return error
    return None


@BOTH
def test_a_key_that_refers_to_a_table_of_a_stranger_is_not_looked_at(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    """Somebody has made it by hand: a query over her table would run the function of her index."""
    replica = channel(databases, tmp_path)
    replica.at_source("create table public.orders (id int primary key, who int)", "insert into orders values (1, 1)")
    replica.begin()
    planter.does(
        "create table public.hers (id int primary key)",
        "insert into public.hers values (1)",
        "create index on public.hers (public.spring_index(id))",
        "grant all on public.hers to public",
    )
    replica.at_target("alter table orders add constraint to_hers foreign key (who) references hers")
    told = found(replica, "CUT-125", compares=True)
    assert "to_hers" in told and f"table public.hers belongs to {planter.name}" in told, told
    assert isinstance(cut_over(replica), CannotCutOver)
    assert planter.has_gained_nothing(replica)
    replica.at_target("alter table orders drop constraint to_hers")
    assert found(replica, "CUT-125", compares=True) == ""


@BY
def test_a_table_that_was_given_to_a_stranger_is_told(
    databases: Databases, tmp_path: Path, planter: Planter, role: str
) -> None:
    replica = channel(databases, tmp_path, role)
    replica.at_source("create table public.a (id int primary key)", "create table public.b (id int primary key)")
    replica.begin()
    replica.replicate()
    replica.at_target(f'alter table public.a owner to "{planter.name}"')
    planter.does(
        "create index on public.a (public.spring_index(id))", "alter table public.a add check (public.spring())"
    )
    told = found(replica, "CUT-126")
    assert f"public.a: table public.a belongs to {planter.name}" in told and "public.b" not in told
    error = cut_over(replica, compares=False)
    assert error is not None and "CUT-126" in error.message
    assert planter.has_gained_nothing(replica)


@BOTH
def test_a_sequence_that_was_given_to_a_stranger_is_not_set(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    replica = channel(databases, tmp_path, db_sequence={})
    replica.at_source("create sequence public.numbers", "select nextval('numbers')", "create sequence public.more")
    replica.begin()
    replica.replicate()
    replica.at_target(f'alter sequence public.numbers owner to "{planter.name}"')
    planter.does("drop sequence public.numbers", "create sequence public.numbers", "grant all on numbers to public")
    replica.at_source("select nextval('numbers')", "select nextval('more')")
    assert "numbers" in refused(replica.replicate).message
    assert replica.rows("select (select is_called from numbers), (select is_called from more)") == [(False, True)]
    told = found(replica, "CUT-130")
    assert f"sequence public.numbers belongs to {planter.name}" in told
    assert cut_over(replica, compares=False) is not None
    planter.does("drop sequence public.numbers")
    replica.settle()


def test_a_sequence_is_not_made_in_a_schema_of_a_stranger(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    replica = channel(databases, tmp_path, db_sequence={})
    planter.does("create schema sales", "grant all on schema sales to public")
    replica.at_source("create schema sales", "create sequence sales.numbers", "create sequence public.more")
    with suppress(DdlReplError):
        replica.begin()
    assert "schema sales belongs to" in refused(replica.replicate).message
    assert replica.rows("select to_regclass('sales.numbers') is null, to_regclass('public.more') is null") == [
        (True, False)
    ]
    planter.does("drop schema sales")
    replica.settle()


@pytest.mark.parametrize("role", ["superuser", "small"])
def test_functions_beside_the_tables_are_not_called(
    databases: Databases, tmp_path: Path, planter: Planter, role: str
) -> None:
    """Names of built-ins in public, where the target's database has public in its search path."""
    replica = channel(databases, tmp_path, role, db_sequence={})
    replica.at_source(
        "create table public.orders (id serial primary key, who int)",
        "alter table orders add foreign key (who) references orders",
        "insert into orders (who) values (1)",
    )
    replica.begin()
    replica.at_target("alter table orders add foreign key (who) references orders")
    for name, arguments in (
        ("format", "text, variadic text[]"),
        ("pg_get_constraintdef", "oid"),
        ("setval", "regclass, bigint, boolean"),
    ):
        planter.does(
            f"create function public.{name}({arguments}) returns text language plpgsql as"
            " $$ begin perform public.spring(); return null; end $$"
        )
    assert cut_over(replica, "CUT-111") is None
    assert planter.has_gained_nothing(replica)
