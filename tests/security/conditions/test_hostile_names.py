"""Expressions of the channel file over tables, columns and types of hostile names, and over ones that turn hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.hostile import traps
from tests.support.replica import BOTH, Replica, channel_file, run

NAMES = (
    'a"; drop table other; --',
    "it's",
    "50% %s %(x)s {0} {commit_time}",
    "\\'x\\\\",
    "\u202eabc\nnext",
    "漢" * 21,
    "select",
    "$1 $$x$$",
    "/* x */ -- y",
)
ROW = "id int primary key"
OURS = "tests.support.value_functions"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@BOTH
def test_hostile_names_in_conditions_functions_and_answers(databases: Databases, tmp_path: Path) -> None:
    """Each name is that of a table and of the column that a condition, a function and an answer are about."""
    file = channel_file(
        tmp_path,
        databases.source,
        databases.target,
        restrict=[{"tables": f"r{n}", "condition": f"{quoted(name)} LIKE 'in%' OR {quoted(name)} = 'it''s \\ \"'"}
                  for n, name in enumerate(NAMES)],
        transform=[{"tables": f"t{n}", "columns": "note", "reads": "*", "function": f"{OURS}:joined"}
                   for n, name in enumerate(NAMES)],
        conflicts=[{"tables": f"c{n}", **{key: {"use_max": name} for key in ("update_row_exists", "insert_row_exists")}}
                   for n, name in enumerate(NAMES)],
    )  # fmt: skip
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("create table other (id int primary key)")
    for n, name in enumerate(NAMES):
        column = quoted(name)
        replica.at_source(
            f"create table r{n} ({ROW}, {column} text); alter table r{n} replica identity full",
            f"create table t{n} ({ROW}, {column} text, note text); alter table t{n} replica identity full",
            f"create table c{n} ({ROW}, {column} int, v text); alter table c{n} replica identity full",
            f"create table {quoted(name)} ({ROW}, {column} text)",
            f"insert into r{n} values (1, 'in'), (2, 'out'), (3, 'it''s \\ \"')",
            f"insert into t{n} values (1, 'a', 'b')",
            f"insert into c{n} values (1, 1, 'a')",
        )
    replica.begin()
    for n, name in enumerate(NAMES):
        replica.at_source(
            f"update r{n} set {quoted(name)} = 'in ''; drop table other; --' where id = 2",
            f"update t{n} set {quoted(name)} = '%s'';' || chr(27)",
            f"update c{n} set {quoted(name)} = 2, v = 'source'",
            f"alter table {quoted(name)} rename to {quoted(f'{n}' + name)}" if len(name.encode()) < 60 else "select 1",
            f"insert into {quoted(f'{n}' + name if len(name.encode()) < 60 else name)} values (1, 'x')",
        )
        replica.at_target(f"update c{n} set {quoted(name)} = 5, v = 'target'")
    replica.at_source("insert into other values (1)")
    replica.replicate()
    for n in range(len(NAMES)):
        assert replica.rows(f"select array_agg(id order by id) from r{n}") == [([1, 2, 3],)]
        assert replica.rows(f"select v from c{n}") == [("target",)]
        assert replica.rows(f"select note like '1|%s'';_|b' from t{n}") == [(True,)]
    assert replica.rows("select id from other") == [(1,)]


@pytest.fixture
def mallory(databases: Databases) -> Iterator[str]:
    """She owns the table `hers` and may create in schema public, where she has set traps."""
    database = databases.source.rsplit("/", 1)[1]
    name = f"mallory_{database}"
    databases.server.create_role(name)
    run(databases.source, f'grant create on schema public to "{name}"')
    dsn = databases.server.dsn(database, name)
    run(dsn, *traps(name))
    yield dsn
    run(databases.source, f'drop owned by "{name}" cascade', f'drop role "{name}"')


CHANGES = {
    "renamed": ("alter table hers rename region to was; alter table hers add region int default 1",),
    "dropped": ("alter table hers drop region",),
    "a domain with a trap": (
        "create function public.checked(text) returns bool language plpgsql as $$ begin"
        " perform pg_catalog.nextval('public.sprung'); return true; end $$",
        "create domain public.place as text",
        "alter table hers alter region type public.place",
        "alter domain public.place add check (public.checked(value) is not null) not valid",
    ),
    "a type of the same name": (
        'create domain public."text" as text',
        'alter table hers alter region type public."text"',
    ),
    "an enum": (
        "create type public.kind as enum ('EU', 'US')",
        "alter table hers alter region type public.kind using 'EU'",
    ),
    "a generated column": (
        "create function public.made(int) returns text immutable language plpgsql as $$ begin"
        " perform pg_catalog.nextval('public.sprung'); return 'EU'; end $$",
        "alter table hers drop region; alter table hers add region text generated always as (public.made(id)) stored",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_table_that_turns_hostile_under_its_condition_stops_alone(
    databases: Databases, tmp_path: Path, mallory: str, kind: str
) -> None:
    """Whatever becomes of the column that the condition names: nothing of hers runs, and the other table goes on."""
    file = channel_file(
        tmp_path, databases.source, databases.target, restrict=[{"tables": "hers", "condition": "region = 'EU'"}]
    )
    replica = Replica(databases.source, databases.target, file)
    run(mallory, "create table public.hers (id int primary key, region text)", "alter table hers replica identity full")
    run(mallory, "insert into hers values (1, 'EU'), (2, 'US')")
    replica.at_source("create table public.other (id int primary key)")
    replica.begin()
    run(mallory, *CHANGES[kind])
    before = sprung(replica)
    replica.at_source("insert into public.other values (1)")
    ends(replica.replicate)
    ends(replica.replicate)
    ends(replica.compare)
    assert replica.rows("select id from public.other") == [(1,)], ends(replica.replicate)
    assert sprung(replica) == before
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.status(cycle)


def sprung(replica: Replica) -> Any:
    with psycopg.connect(replica.source) as connection:
        return connection.execute("select last_value, is_called from public.sprung").fetchone()


def ends(work: Any) -> str:
    """What it says where it fails by an error of ours."""
    try:
        work()
    except DdlReplError as error:
        return str(error)
    return ""
