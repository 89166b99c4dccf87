"""Reading a table of somebody else's runs none of their code, whoever reads it: neither the reader nor a superuser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.load.held_tables import HeldTables
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import BOTH, run
from tests.support.small_roles import small_replica

TRAP = """create function public.trap(what text, n int) returns int language plpgsql immutable as
$$begin
if current_user <> '{owner}' then raise log 'SPRUNG {owner}: % as %', what, current_user; end if; return n;
end$$"""
TABLES = {
    "index_expression": ("create index on {t} ((public.trap('index expression', 1) + id))",),
    "index_predicate": ("create index on {t} (id) where public.trap('index predicate', 1) = 1",),
    "statistics": ("create statistics public.st on (public.trap('statistics', 1) + id), id from {t}",),
    "operator": (
        "create operator public.@@+ (leftarg = text, rightarg = int, function = public.trap)",
        "create index on {t} (('operator' operator(public.@@+) 1))",
    ),
    "check_constraint": ("alter table {t} add check (public.trap('check', 1) = 1)",),
    "domain_check": (
        "create domain public.guarded as int check (public.trap('domain', 1) = 1)",
        "alter table {t} add d public.guarded",
    ),
    "stored": ("alter table {t} add g int generated always as (public.trap('generated', 1)) stored",),
    "trigger": (
        "create function public.fired() returns trigger language plpgsql as"
        " $$begin perform public.trap('trigger', 1); return new; end$$",
        "create trigger z before insert or update on {t} for each row execute function public.fired()",
    ),
}
"""Tables of the attacker, with what each is to run when somebody else reads it."""


@dataclass
class Mallory:
    """A role that may create tables in schema public."""

    name: str
    dsn: str
    log: Path

    def does(self, *statements: str) -> None:
        run(self.dsn, *statements)

    def sets_traps(self) -> None:
        self.does(TRAP.format(owner=self.name))
        for name, statements in TABLES.items():
            table = f"public.{name}"
            self.does(f"create table {table} (id int primary key, v text)")
            self.does(*(one.format(t=table) for one in statements), f"insert into {table} values (1, 'a'), (2, 'b')")
        self.does(
            "create table public.parted (id int primary key) partition by range (id)",
            "create table public.part partition of public.parted for values from (0) to (100)",
            "create index on public.parted ((public.trap('partition', 1) + id))",
            "insert into public.parted values (2)",
        )

    def sprung(self) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if f"SPRUNG {self.name}:" in line]


@pytest.fixture
def mallory(databases: Databases) -> Iterator[Mallory]:
    database = databases.source.rsplit("/", 1)[1]
    name = f"mallory_{database}"
    databases.server.create_role(name)
    run(databases.source, f'grant create on schema public to "{name}"')
    yield Mallory(name, databases.server.dsn(database, name), databases.server.log)
    run(databases.source, f'drop owned by "{name}" cascade', f'drop role "{name}"')


def all_that_reads(replica: Any, mallory: Mallory) -> None:
    """Every command that reads tables of the source."""
    mallory.does("update public.index_expression set v = 'c' where id = 1")
    replica.replicate()
    replica.refresh("*.*")
    replica.refresh("*.*", options="-gr")
    report = replica.compare()
    assert report.differences == 0, report.text()
    replica.at_target("delete from index_expression where id = 1", "update statistics set v = 'other' where id = 2")
    found = replica.compare()
    assert {(str(t.table), t.missing, t.different) for t in found.tables if t.differences} == {
        ("public.index_expression", 1, 0),
        ("public.statistics", 0, 1),
    }
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert flow.repair(cycle).differences == 0


@BOTH
@pytest.mark.parametrize("reader", ["the reading role", "a superuser"])
def test_no_read_runs_code_of_a_tables_owner(
    databases: Databases, tmp_path: Path, mallory: Mallory, reader: str
) -> None:
    replica = small_replica(databases, tmp_path, rewind_horizon={"age": "1d"})
    mallory.sets_traps()
    if reader == "a superuser":
        replica.file.write_text(replica.file.read_text().replace(replica.small, replica.source))
        replica.small = replica.source
    replica.begin()
    all_that_reads(replica, mallory)
    assert mallory.sprung() == []
    with psycopg.connect(databases.source) as connection:
        connection.execute("select * from public.index_expression")
    assert len(mallory.sprung()) == 1, "a query of anybody else's would have"


@BOTH
def test_conditions_and_functions_read_such_a_table_without_its_code(
    databases: Databases, tmp_path: Path, mallory: Mallory
) -> None:
    """The target answers which rows meet the condition."""
    restrict = [{"tables": "t", "condition": "id > 1"}]
    replica = small_replica(databases, tmp_path, restrict=restrict)
    mallory.does(
        TRAP.format(owner=mallory.name),
        "create domain public.guarded as int check (public.trap('domain', 1) = 1)",
        "create table public.t (id int primary key, v text, d public.guarded)",
        "create index on public.t ((public.trap('index', 1) + id))",
        r"insert into public.t values (1, 'a', 1), (2, E'b\t\\N\n', 2), (3, null, 3)",
    )
    replica.begin()
    assert replica.rows("select id, v from t order by id") == [(2, "b\t\\N\n"), (3, None)]
    replica.check_equal()
    replica.at_target("delete from t where id = 2")
    assert [(t.missing, t.source_rows) for t in replica.compare().tables] == [(1, 2)]
    replica.refresh("*.*", options="-gr")
    replica.check_equal()
    assert mallory.sprung() == []


@BOTH
def test_a_table_that_queries_read_gets_no_code_meanwhile(
    databases: Databases, tmp_path: Path, mallory: Mallory
) -> None:
    replica = small_replica(databases, tmp_path)
    mallory.does(
        TRAP.format(owner=mallory.name),
        "create table public.plain (id int primary key, v text); create index on public.plain (lower(v))",
        "create table public.trapped (id int primary key); create index on public.trapped ((public.trap('x', 1)))",
    )
    replica.begin()
    with psycopg.connect(databases.source) as connection:
        names = ("plain", "trapped")
        ids = [connection.execute(f"select 'public.{n}'::regclass::oid::bigint").fetchone()[0] for n in names]  # type: ignore[index]
    held = HeldTables(replica.small)
    assert [held.may_query(i) for i in ids] == [True, False]
    adding = (
        "create index on public.plain ((public.trap('y', 1)))",
        "create index concurrently on public.plain ((public.trap('y', 1)))",
        "create statistics public.late on (public.trap('y', 1) + id), id from public.plain",
        "alter table public.plain add n int",
    )
    with psycopg.connect(mallory.dsn, autocommit=True) as other:
        other.execute("set lock_timeout = '200ms'")
        for statement in adding:
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(statement)
        other.execute("insert into public.plain values (1, 'a')")
        held.close()
        other.execute(adding[2])
    assert not HeldTables(replica.small).may_query(ids[0])
    with session(mallory.dsn) as own, pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute("select ddlrepl.hold_for_queries('{}')")


def test_a_generated_column_that_only_a_query_reads_keeps_its_table_waiting(
    databases: Databases, tmp_path: Path, mallory: Mallory
) -> None:
    replica = small_replica(databases, tmp_path)
    mallory.does(
        TRAP.format(owner=mallory.name),
        "create table public.other (id int primary key); insert into public.other values (1)",
        "create table public.t (id int primary key, g int generated always as (public.trap('g', id)) stored)",
        "create index on public.t ((public.trap('index', 1)))",
        "insert into public.t values (1), (2)",
    )
    with pytest.raises(DdlReplError, match="SRC-174") as caught:
        replica.begin()
    assert caught.value.table == "public.t" and "let a superuser own them" in caught.value.hint
    assert replica.rows("select * from other") == [(1,)]
    mallory.does("drop index public.t_trap_idx")
    replica.settle()
    assert replica.rows("select * from t order by id") == [(1, 1), (2, 2)]
    assert mallory.sprung() == []
