"""Every type passes through staging and merge and is equal in the send format afterwards."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.merge import stage
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import wire_types
from tests.postgres.log.test_capture_range_types import columns, fill
from tests.support.merging import Pair, stage_together

VERSIONS = pytest.mark.parametrize("databases", [18, 15], indirect=True)
FORMATS = pytest.mark.parametrize("wire_format", ["binary", "text"])


@pytest.fixture
def pair(databases: Any, tmp_path: Path) -> Iterator[Pair]:
    one = Pair(databases, tmp_path)
    yield one
    one.close()


@VERSIONS
@FORMATS
@pytest.mark.parametrize("key", ["primary key", ""], ids=["key", "no key"])
def test_every_builtin_type(pair: Pair, wire_format: str, key: str) -> None:
    shape = sql.SQL(", ").join(
        sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in columns(wire_format)
    )
    for connection in (pair.source, pair.target):
        connection.execute(sql.SQL('create table "all" ("id;" int ' + key + ", {})").format(shape))
        connection.execute('alter table "all" replica identity full')
    pair.start()
    fill(pair.source, wire_format)
    pair.replicate(wire_format=wire_format)
    assert pair.same("all")
    pair.do('delete from "all" where "id;" = 3', 'update "all" set "id;" = "id;" + 100 where "id;" < 3')
    pair.do('insert into "all" select (json_populate_record(a, \'{"id;": 7777}\')).* from "all" a where "id;" = 4')
    counts = pair.replicate('delete from "all" where "id;" = 4', wire_format=wire_format)
    assert pair.same("all")
    assert counts["all"].moved == (3 if key else 0)
    pair.do('delete from "all"')
    pair.replicate(wire_format=wire_format)
    assert pair.target.execute('select count(*) from "all"').fetchone() == (0,)


@VERSIONS
@FORMATS
@pytest.mark.parametrize("key", ["primary key", ""], ids=["key", "no key"])
def test_every_type_that_needs_no_staging_table(pair: Pair, wire_format: str, key: str) -> None:
    """An array of it travels with the statement; arrays themselves, and the types that are arrays inside, don't."""
    plain = [(name, kind) for name, kind in columns(wire_format) if not kind.endswith(("[]", "vector"))]
    names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in plain)
    shape = sql.SQL(", ").join(sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in plain)
    whole = sql.SQL(", ").join(
        sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in columns(wire_format)
    )
    pair.source.execute(sql.SQL('create table "all" ("id;" int, {})').format(whole))
    for connection in (pair.source, pair.target):
        connection.execute(sql.SQL("create table plain (id int " + key + ", {})").format(shape))
        connection.execute("alter table plain replica identity full")
    fill(pair.source, wire_format)
    pair.start()
    pair.source.execute(sql.SQL('insert into plain select "id;", {} from "all"').format(names))
    for statement in ("select 1", "update plain set id = id + 100 where id < 3", "delete from plain where id > 4"):
        pair.do(statement)
        staged = pair.stage(pair.tasks(pair.capture(wire_format)))
        assert all(one.inline and not one.stored for one in staged)
        pair.merge(staged)
        assert pair.same("plain")


def test_what_is_too_much_to_give_is_copied(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are staged together have a budget; what is left of it shows in no text."""
    pair.both(*(f"create table t{n} (id int primary key, secret text)" for n in (1, 2, 3)))
    pair.start()
    pair.do("insert into t1 values (1, 'hidden')", "insert into t2 select i, 'hidden' from generate_series(1, 1001) i")
    pair.do("insert into t3 values (1, 'hidden')")
    tasks = sorted(pair.tasks(pair.capture()), key=lambda task: task.target_name.name)
    monkeypatch.setattr(stage, "MOST_TOGETHER", 100)
    staged = stage_together(tasks)
    assert [bool(one.inline) for one in staged] == [True, False, False]
    assert [len(one.stored) for one in staged] == [0, 1, 1] and "hidden" not in repr(staged)
    assert pickle.loads(pickle.dumps(staged)) == staged
    pair.merge(staged)
    assert pair.same("t1", "t2", "t3") and pair.leftovers() == []


USER_TYPES = (
    "create schema shop",
    "create type shop.\"Sta;tus\" as enum ('new', 'pa\"id;', 'done')",
    "create domain shop.amount as numeric(8,2) check (value > 0)",
    "create domain shop.label as text not null",
    "create domain shop.state as shop.\"Sta;tus\" default 'new'",
    "create domain shop.tags as text[]",
    'create type shop.pair as (a int, b text, s shop."Sta;tus")',
    "create type shop.span as range (subtype = float8)",
)


def user_table(name: str, types: dict[str, str]) -> str:
    body = ", ".join(f"{column} {type_}" for column, type_ in types.items())
    return f"create table {name} (id int, {body}, primary key (id, {next(iter(types))}))"


STATUS = 'shop."Sta;tus"'
PLAIN = {"e": STATUS, "d": "shop.amount", "l": "shop.label", "s": "shop.state", "t": "shop.tags", "n": "int"}
COMPLEX = {
    "e": 'shop."Sta;tus"[]',
    "c": "shop.pair",
    "cs": "shop.pair[]",
    "r": "shop.span",
    "d": "shop.amount[]",
    "n": "int",
}


@FORMATS
def test_enums_and_domains(pair: Pair, wire_format: str) -> None:
    pair.both(*USER_TYPES, user_table("t", PLAIN))
    pair.start()
    safe = tuple(wire_types(inspect(pair.source)).items()) if wire_format == "binary" else ()
    pair.replicate(
        "insert into t values (1, 'new', 1.5, 'x', 'done', '{a,NULL}', 1), (2, 'pa\"id;', null, '', null, null, 2)",
        wire_format=wire_format,
        types=safe,
    )
    assert pair.same("t")
    pair.replicate(
        "update t set n = 3, d = 7 where id = 1",
        "update t set e = 'done' where id = 2",
        "insert into t values (4, 'new', 9, 'y', null, null, 0)",
        wire_format=wire_format,
        types=safe,
    )
    assert pair.same("t")


def test_composites_and_arrays_of_user_types(pair: Pair) -> None:
    pair.both(*USER_TYPES, user_table("t", COMPLEX))
    pair.start()
    value = "(1, '{new,done}', row(1, 'x,\"y', 'new'), array[row(2, null, 'done')::shop.pair], '[1.5,2)', '{1,2.5}', 1)"
    pair.replicate(f"insert into t values {value}", wire_format="text")
    assert texts(pair.source) == texts(pair.target)
    pair.replicate("update t set n = 2, c = null", "update t set e = '{}' ", wire_format="text")
    assert texts(pair.source) == texts(pair.target)
    pair.replicate("delete from t", wire_format="text")
    assert texts(pair.source) == texts(pair.target)


def texts(connection: psycopg.Connection[Any]) -> list[Any]:
    """By text: the send format of these types contains each server's object ids."""
    return connection.execute("select t::text from t order by id").fetchall()
