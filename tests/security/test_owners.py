"""What a stranger has made at a target before the channel uses that name is not used, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import run_doctor
from airflow_ddlrepl.errors import ApplyError, DdlReplError, TargetError
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.postgres.apply_lcrs.applying import apply_rows, ask, insert, lcr_target
from tests.support.replica import BOTH, Replica, channel_file, run
from tests.support.small_roles import small_replica

TRAP = (
    "create sequence public.sprung; grant all on sequence public.sprung to public",
    "create function public.spring() returns boolean language plpgsql as $$ begin"
    " if current_user not like 'planter%' then perform pg_catalog.nextval('public.sprung'); end if;"
    " return true; end $$",
    "create function public.spring_row() returns trigger language plpgsql as $$ begin"
    " perform public.spring(); return new; end $$",
    "create function public.spring_index(int) returns int immutable language plpgsql as $$ begin"
    " perform public.spring(); return 1; end $$",
)
TABLE = "create table public.{} (id int primary key, note text)"
CODE = {
    "nothing": (TABLE,),
    "checked": ("create table public.{} (id int primary key, note text check (public.spring()))",),
    "triggered": (
        TABLE,
        "create trigger a before insert on public.{} for each row execute function public.spring_row()",
        "alter table public.{} enable always trigger a",
    ),
    "indexed": (TABLE, "create index on public.{} (public.spring_index(id))"),
    "defaulted": ("create table public.{} (id int primary key, note text, more bool default public.spring())",),
    "ruled": (TABLE, "create rule r as on insert to public.{} do also select public.spring()"),
    "with_policy": (
        TABLE,
        "alter table public.{} enable row level security",
        "create policy p on public.{} using (public.spring()) with check (public.spring())",
    ),
    "view": ("create view public.{} as select 1 as id, 'a'::text as note where public.spring()",),
}


@dataclass
class Planter:
    """A role that may create in the target's schema public, and in the database."""

    name: str
    dsn: str

    def does(self, *statements: str) -> None:
        run(self.dsn, *statements)

    def has_gained_nothing(self, replica: Replica) -> bool:
        return replica.rows("select is_called from public.sprung") == [(False,)]


@pytest.fixture
def planter(databases: Databases) -> Iterator[Planter]:
    database = databases.target.rsplit("/", 1)[1]
    name = f"planter_{database}"
    databases.server.create_role(name)
    run(
        databases.target,
        f'grant create on schema public to "{name}"',
        f'grant create on database "{database}" to "{name}"',
    )
    made = Planter(name, databases.server.dsn(database, name))
    made.does(*TRAP)
    yield made
    run(databases.target, f'drop owned by "{name}" cascade', f'drop role "{name}"')


def channel(databases: Databases, folder: Path, role: str = "superuser", **more: Any) -> Replica:
    """A channel whose target is written by a superuser, or by the small role of the page."""
    if role == "superuser":
        file = channel_file(folder, databases.source, databases.target, **more)
        return Replica(databases.source, databases.target, file)
    replica = small_replica(databases, folder, **more)
    run(databases.target, "grant create, usage on schema public to public")
    return replica


def refused(work: Callable[[], Any]) -> DdlReplError:
    with pytest.raises(DdlReplError, match="ADP-192") as caught:
        work()
    return caught.value


BY = pytest.mark.parametrize("role", ["superuser", "small"])


@BY
def test_tables_of_a_stranger_are_not_used(databases: Databases, tmp_path: Path, planter: Planter, role: str) -> None:
    replica = channel(databases, tmp_path, role)
    replica.at_source("create table public.other (id int primary key)", "insert into public.other values (1)")
    for name, statements in CODE.items():
        planter.does(*(one.format(name) for one in statements))
        replica.at_source(TABLE.format(name), f"insert into public.{name} values (1, 'secret')")
    planter.does(*(f"grant all on public.{name} to public" for name in CODE))
    error = refused(replica.begin)
    assert error.table in {f"public.{name}" for name in CODE} and planter.name in error.message
    assert replica.rows("select id from public.other") == [(1,)]
    replica.at_source("insert into public.other values (2)", "insert into public.checked values (2, 'secret')")
    refused(replica.replicate)
    assert replica.rows("select count(*) from public.other") == [(2,)]
    assert planter.has_gained_nothing(replica)
    for name in CODE:
        assert name == "view" or replica.rows(f"select count(*) from public.{name}") == [(0,)]
        planter.does(f"drop {'view' if name == 'view' else 'table'} public.{name}")
    replica.settle()
    assert replica.rows("select count(*) from public.checked") == [(2,)]


@BOTH
def test_a_table_that_is_created_later_does_not_become_a_strangers(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    replica = channel(databases, tmp_path)
    replica.at_source("create table public.other (id int primary key)")
    replica.begin()
    for name, statements in CODE.items():
        planter.does(*(one.format(name) for one in statements))
        replica.at_source(TABLE.format(name), f"insert into public.{name} values (1, 'secret')")
    planter.does(*(f"grant all on public.{name} to public" for name in CODE))
    replica.at_source("insert into public.other values (2)")
    assert planter.name in refused(replica.replicate).message
    assert replica.rows("select count(*) from public.other") == [(1,)]
    assert planter.has_gained_nothing(replica)
    for name in CODE:
        planter.does(f"drop {'view' if name == 'view' else 'table'} public.{name}")
    replica.settle()


@BY
def test_a_type_of_a_stranger_is_not_used(databases: Databases, tmp_path: Path, planter: Planter, role: str) -> None:
    """A domain with a check of hers, directly and within a composite type; before the load, and later."""
    replica = channel(databases, tmp_path, role)
    planter.does("create domain public.d as int check (public.spring())", "create domain public.later as text")
    replica.at_source(
        "create domain public.d as int",
        "create type public.pair as (a int, b public.d)",
        "create table public.flat (id int primary key, v public.d)",
        "create table public.nested (id int primary key, v public.pair)",
        "create table public.other (id int primary key)",
        "insert into public.flat values (1, 1)",
        "insert into public.nested values (1, row(1, 1))",
        "insert into public.other values (1)",
    )
    refused(replica.begin)
    assert replica.rows("select count(*) from public.other") == [(1,)]
    replica.at_source("create domain public.later as text", "alter table public.other add v public.later")
    replica.at_source("insert into public.other values (2, 'a')")
    refused(replica.replicate)
    assert planter.has_gained_nothing(replica)
    planter.does("drop domain public.d", "drop domain public.later")
    replica.settle()


@BY
def test_a_schema_of_a_stranger_is_not_used(databases: Databases, tmp_path: Path, planter: Planter, role: str) -> None:
    replica = channel(databases, tmp_path, role)
    planter.does("create schema sales", "grant all on schema sales to public")
    replica.at_source(
        "create schema sales",
        "create table sales.t (id int primary key)",
        "create table public.other (id int primary key)",
        "insert into public.other values (1)",
    )
    assert "ALTER SCHEMA sales OWNER TO" in refused(replica.begin).hint
    assert replica.rows("select count(*) from public.other") == [(1,)]
    assert replica.rows("select to_regclass('sales.t')") == [(None,)]
    planter.does("drop schema sales")
    replica.settle()


def test_our_state_is_not_read_from_tables_of_a_stranger(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    replica = channel(databases, tmp_path, "small")
    planter.does(
        "create schema ddlrepl",
        "create view ddlrepl.position as select 'shop'::text as channel, '0/1'::pg_lsn as lsn, 1::bigint as epoch,"
        " 0::bigint as token, now() as updated where public.spring()",
        "grant all on schema ddlrepl to public; grant all on ddlrepl.position to public",
    )
    replica.at_source("create table public.t (id int primary key)")
    with pytest.raises(TargetError, match="TGT-104"):
        replica.begin()
    assert planter.has_gained_nothing(replica)


@BOTH
def test_a_live_table_that_gets_another_owner_stops_alone(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    """Until it is handed back, or the channel file says that the owner is trusted."""
    replica = channel(databases, tmp_path)
    replica.at_source("create table public.a (id int primary key)", "create table public.b (id int primary key)")
    replica.begin()
    replica.at_target(f'alter table public.a owner to "{planter.name}"')
    planter.does("alter table public.a add check (public.spring())")
    replica.at_source("insert into public.a values (1)", "insert into public.b values (1)")
    assert refused(replica.replicate).table == "public.a"
    assert replica.rows("select (select count(*) from public.a), (select count(*) from public.b)") == [(0, 1)]
    assert planter.name in replica.compare().text()
    planter.does("create index on public.a (public.spring_index(id))")
    replica.compare()
    assert planter.has_gained_nothing(replica)
    replica.file.write_text(replica.file.read_text().replace("- name: warehouse", TRUSTING.format(planter.name)))
    replica.settle()
    assert not planter.has_gained_nothing(replica)


TRUSTING = "- trusted_owners: [{}]\n  name: warehouse"


def test_a_trigger_that_a_grant_has_let_a_stranger_make_stops_its_table(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    """The right TRIGGER is enough for one that fires after each statement, where our role can't skip it."""
    replica = channel(databases, tmp_path, "small")
    replica.at_source("create table public.a (id int primary key)", "create table public.b (id int primary key)")
    replica.begin()
    replica.at_target(f'grant all on public.a to "{planter.name}"')
    planter.does("create trigger z after insert on public.a execute function public.spring_row()")
    replica.at_source("insert into public.a values (1)", "insert into public.b values (1)")
    error = refused(replica.replicate)
    assert error.table == "public.a" and "spring_row" in error.message
    assert replica.rows("select count(*) from public.b") == [(1,)]
    assert planter.has_gained_nothing(replica)
    replica.at_target("drop trigger z on public.a")
    replica.settle()


def test_an_existing_channel_goes_on_with_the_owners_that_it_has(
    databases: Databases, tmp_path: Path, planter: Planter
) -> None:
    """A version that took any owner has loaded it; from then on no other owner is taken."""
    replica = channel(databases, tmp_path)
    replica.at_source("create table public.a (id int primary key)", "create table public.b (id int primary key)")
    replica.begin()
    replica.at_target(f'alter table public.a owner to "{planter.name}"', "alter table ddlrepl.position drop owners")
    replica.at_source("insert into public.a values (1)", "insert into public.b values (1)")
    warnings = replica.settle().warnings
    assert [one for one in warnings if f"table public.a belongs to {planter.name}" in one]
    found = run_doctor(load_channel(replica.file))
    assert [one for one in found if one.is_warning and f"belongs to {planter.name}" in one.detail]
    other = f"{planter.name}_other"
    replica.at_target(f'create role "{other}"', f'alter table public.b owner to "{other}"')
    replica.at_source("insert into public.b values (2)")
    refused(replica.replicate)
    replica.at_target(f'drop owned by "{other}"', f'drop role "{other}"')


def test_a_sequence_of_a_stranger_is_not_used(databases: Databases, tmp_path: Path, planter: Planter) -> None:
    replica = channel(databases, tmp_path, db_sequence={})
    planter.does("create sequence public.numbers", "grant all on sequence public.numbers to public")
    replica.at_source("create sequence public.numbers", "create sequence public.more", "select nextval('numbers')")
    replica.at_source("create table public.t (id int primary key default nextval('numbers'))")
    assert "numbers" in refused(replica.begin).message
    assert replica.rows("select to_regclass('public.more') is not null") == [(True,)]
    assert replica.rows("select is_called from public.numbers") == [(False,)]
    planter.does("drop sequence public.numbers")
    replica.settle()
    assert replica.rows("select is_called from public.numbers") == [(True,)]


def test_an_apply_process_writes_to_no_table_of_a_stranger(databases: Databases, planter: Planter) -> None:
    planter.does(*(one.format("checked") for one in CODE["checked"]), "grant all on checked to public")
    with lcr_target(databases.target) as target:
        with pytest.raises(ApplyError, match="APL-118") as caught:
            apply_rows(target, [insert("public.checked", id="1", note="a")])
        assert caught.value.table == "public.checked" and "trusted_owners" in caught.value.hint
        with pytest.raises(ApplyError, match="APL-118"):
            target.rows_outside(TableName("public", "checked"), [], "dbs1")
    assert ask(databases.target, "select is_called from sprung") == [(False,)]
    run(databases.target, "alter table public.checked owner to postgres")
    with (
        lcr_target(databases.target) as target,
        pytest.raises(ApplyError, match=r"APL-118: function public.spring\(\) belongs to"),
    ):
        apply_rows(target, [insert("public.checked", id="1", note="a")])
    assert ask(databases.target, "select is_called from sprung") == [(False,)]
    run(databases.target, "alter function public.spring() owner to postgres")
    with lcr_target(databases.target) as target:
        apply_rows(target, [insert("public.checked", id="1", note="a")])
    assert ask(databases.target, "select count(*) from checked") == [(1,)]
