"""Tables of a target keep deleted rows, are histories, have columns and a key of their own, or get some rows anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance import places
from tests.conformance.conftest import LAKE
from tests.conformance.lake_place import iceberg
from tests.conformance.places import Place
from tests.conformance.runs import run_and_die
from tests.conftest import Databases
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import pointers, reader
from tests.support.restricting import at_source, now

TABLE = (
    "create table t (id int primary key, price numeric(9,2), amount int, note text not null)",
    "insert into t select i, i, 2, 'row ' || i from generate_series(1, 6) i",
)
KEPT = {"tables": "t", "soft_delete": "is_deleted", "deleted_at": "deleted_at"}
HISTORY = {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}


@pytest.fixture(params=["duckdb", pytest.param("iceberg", marks=LAKE)])
def place(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> Any:
    """A function that gives an active channel into a DuckDB file, or a lake, with tables and sections."""

    def make(tables: tuple[str, ...] = TABLE, **more: Any) -> Place:
        if request.param == "duckdb":
            made = places.duckdb(tmp_path, databases.source, **more)
        else:
            request.getfixturevalue("lake_spark")
            made = iceberg(tmp_path, databases.source, [], "", **more)
        made.replica.at_source(*tables)
        made.replica.activate()
        made.replica.check_equal()
        return made

    return make


def location(of: Place) -> str:
    """Where the target is."""
    (target,) = yaml.safe_load(of.replica.file.read_text())["targets"]
    return str(target["location"])


def ask(of: Place, query: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers, which reads a lake's tables, too."""
    if of.engine == "iceberg":
        connection = reader().cursor()
        connection.execute("CREATE SCHEMA IF NOT EXISTS public")
        for name, metadata in pointers(location(of)).items():
            connection.execute(f"CREATE OR REPLACE VIEW public.{name.name} AS FROM iceberg_scan('{metadata}')")
        return list(connection.execute(query).fetchall())
    with session(location(of)) as connection:
        return list(connection.execute(query).fetchall())


def write(of: Place, *statements: str) -> None:
    """As somebody does who has no business there."""
    for statement in statements:
        if of.engine == "iceberg":
            somebody(location(of)).sql(statement.replace("public.t", "lake.public.t"))
        else:
            with session(location(of)) as connection:
                connection.execute(statement)


def test_deleted_rows_stay_with_a_flag(place: Any) -> None:
    found = place(target_tables=[KEPT])
    flags = "select id, note, is_deleted, deleted_at is not null from public.t order by id"
    found.replica.at_source(
        "update t set note = 'last' where id = 1",
        "delete from t where id = 1",
        "delete from t where id = 2",
        "insert into t values (7, 7, 7, 'came'), (8, 8, 8, 'short')",
        "update t set note = 'and went' where id = 8",
        "delete from t where id = 8",
        "delete from t where id = 3",
        "insert into t values (3, 3, 3, 'again')",
        "delete from t where id = 4",
        "update t set id = 4 where id = 5",
    )
    found.replica.settle()
    assert ask(found, flags) == [
        (1, "last", True, True),
        (2, "row 2", True, True),
        (3, "again", False, False),
        (4, "row 5", False, False),
        (6, "row 6", False, False),
        (7, "came", False, False),
        (8, "and went", True, True),
    ]
    found.replica.at_source(
        "insert into t values (2, 2, 2, 'back')",
        "update t set id = 1 where id = 6",
        "begin; update t set note = 'x' where id = 7; alter table t add z int not null default 5, drop amount;"
        " update t set note = 'came' where id = 7; commit",
        "alter table t rename note to remark",
        "alter table t alter price type numeric(12,3)",
        "insert into t values (9, 9, 'new', 6)",
        "delete from t where id = 3",
    )
    found.replica.settle()
    rows = "select id, remark, z, is_deleted from public.t order by id"
    wanted: list[Any] = [(1, "row 6", 5, False), (2, "back", 5, False), (3, "again", 5, True), (4, "row 5", 5, False)]
    wanted += [(7, "came", 5, False), (8, "and went", 5, True), (9, "new", 6, False)]
    assert ask(found, rows) == wanted
    noted = ask(found, "select deleted_at::varchar from public.t where id = 8")
    write(
        found,
        "insert into public.t (id, remark, is_deleted) values (33, 'of nobody', false)",
    )
    found.replica.refresh("public.t")
    found.replica.check_equal()
    assert ask(found, rows) == [*wanted, (33, "of nobody", 5, True)]
    assert ask(found, "select deleted_at::varchar from public.t where id = 8") == noted
    found.replica.at_source("truncate t", "insert into t values (20, 20, 'after', 1)")
    found.replica.settle()
    after = "select id, is_deleted, deleted_at is not null from public.t where not is_deleted or id in (2, 9)"
    assert ask(found, f"{after} order by id") == [(2, True, True), (9, True, True), (20, False, False)]
    now(found.replica, target_tables=[])
    found.replica.settle()
    assert ask(found, "select id from public.t") == [(20,)]


def test_columns_take_values_of_changes_and_loads(place: Any) -> None:
    extra = {"at": "{commit_time}", "by": "{operation}", "day": "{commit_time}::date", "pos": "{position}"}
    extra |= {"xid": "{transaction}", "n": "{sequence}"}
    found = place(target_tables=[{"tables": "t", "extra": extra}])
    query = 'select id, "by", day = "at"::date, pos > 0, xid is null, n from public.t order by id'
    assert ask(found, query) == [(i, "refresh", True, True, True, 0) for i in range(1, 7)]
    found.replica.at_source("update t set amount = 3 where id = 1", "insert into t values (7, 1, 1, 'new')")
    found.replica.settle()
    assert [row[:5] for row in ask(found, query) if row[0] in (1, 7)] == [
        (1, "update", True, True, False),
        (7, "insert", True, True, False),
    ]
    now(found.replica, target_tables=[{"tables": "t", "extra": {**extra, "total": "price * amount"}}])
    with pytest.raises(DdlReplError, match=r"ADP-164: .*does not compute columns: total"):
        found.replica.refresh("public.t")


def test_every_change_is_a_row_and_a_dropped_column_keeps_their_values(place: Any) -> None:
    entry = {"tables": "t", "time_key": True, "extra": {**HISTORY, "xid": "{transaction}", "at": "{commit_time}"}}
    found = place(target_tables=[entry], adapt_ddl=[{"add_table_pattern": "*"}])
    found.replica.at_source(
        "update t set note = 'n' where id = 1; update t set amount = 7 where id = 1; delete from t where id = 1",
        "update t set id = 20 where id = 2",
        "insert into t values (21, 1, 1, 'short'); delete from t where id = 21",
    )
    found.replica.settle()
    history = "select id, amount, note, op from public.t where op <> 'refresh' order by pos, seq, op"
    wanted: list[Any] = [(1, 2, "n", "update"), (1, 7, "n", "update"), (1, 7, "n", "delete")]
    wanted += [(2, 2, "row 2", "delete"), (20, 2, "row 2", "update"), (21, 1, "short", "insert")]
    wanted += [(21, 1, "short", "delete")]
    assert ask(found, history) == wanted
    assert ask(found, 'select count(*), count(xid), count("at") from public.t') == [(13, 7, 13)]
    found.replica.at_source(
        "alter table t drop amount, add z int default 5",
        "alter table t rename note to remark",
        "insert into t values (22, 22, 'new', 6)",
        "alter table t alter id type bigint",
        "delete from t where id = 3",
    )
    found.replica.settle()
    later = history.replace("note", "remark")
    wanted += [(22, None, "new", "insert"), (3, None, "row 3", "delete")]
    assert ask(found, later) == wanted
    found.replica.at_source("truncate t; insert into t values (1, 1, 'after', 1)")
    found.replica.settle()
    wanted += [(None, None, None, "truncate"), (1, None, "after", "insert")]
    assert ask(found, later) == wanted
    found.replica.refresh("public.t")
    found.replica.check_equal()
    wanted += [(None, None, None, "truncate")]
    assert ask(found, later) == wanted
    assert ask(found, "select count(*), min(id) from public.t where op = 'refresh'") == [(7, 1)]
    found.replica.at_source("insert into t values (2, 2, 'next', 2)")
    found.replica.settle()
    now(found.replica, target_tables=[])
    found.replica.settle()
    assert ask(found, "select id, remark from public.t order by id") == [(1, "after"), (2, "next")]


def test_a_table_becomes_a_history_while_it_is_there(place: Any) -> None:
    """Rows of before count no more: they are loaded again."""
    found = place(target_tables=[])
    now(found.replica, target_tables=[{"tables": "t", "time_key": True, "extra": HISTORY}])
    found.replica.at_source("alter table t replica identity full", "delete from t where id = 6")
    found.replica.settle()
    assert ask(found, "select op, count(*) from public.t group by op order by op") in (
        [("refresh", 5)],
        [("refresh", 5), ("truncate", 1)],
    )


def test_a_target_has_a_key_of_its_own(place: Any) -> None:
    table = "create table t (id int primary key, a int not null, b text not null, note text)"
    found = place(
        (table, "insert into t select i, i % 3, 'b' || i, 'row ' || i from generate_series(1, 6) i"),
        target_tables=[{"tables": "t", "key": ["b", "a"]}],
        column_properties=[{"tables": "t", "columns": "id", "absent": True}, {"columns": "b", "name": "c"}],
    )
    found.replica.at_source(
        "update t set b = 'x' where id = 1",
        "update t set note = 'changed' where id in (1, 2)",
        "update t set id = 30 where id = 3",
        "delete from t where id = 4",
        "insert into t values (7, 1, 'b4', 'takes its key')",
    )
    found.replica.settle()
    wanted = [("b2", 2, "changed"), ("b3", 0, "row 3"), ("b4", 1, "takes its key"), ("b5", 2, "row 5")]
    wanted += [("b6", 0, "row 6"), ("x", 1, "changed")]
    assert ask(found, "select c, a, note from public.t order by c, a") == wanted
    found.replica.at_source("insert into t values (11, 2, 'b2', 'same')")
    with pytest.raises(DdlReplError, match="INT-102"):
        found.replica.replicate()
    with pytest.raises(DdlReplError, match=r"TGT-120: .* Key \(c, a\)=\(b2, 2\) is duplicated"):
        found.replica.refresh("public.t")
    assert ask(found, "select c, a, note from public.t order by c, a") == wanted
    found.replica.at_source("delete from t where id = 11")
    found.replica.refresh("public.t")
    found.replica.settle()


LIMIT = {"tables": "t", "refresh": "region = 1", "context": "adaptddl"}
REGIONS = (
    "create table t (id int primary key, region int, amount int, note text)",
    "insert into t select i, i % 2, i * 10, 'n' from generate_series(1, 6) i",
)
DOUBLED = "alter table t alter amount type bigint using amount * 2"
AMOUNTS = "select id, amount from public.t order by id"


def test_a_schema_change_replaces_the_rows_of_the_condition_only(place: Any) -> None:
    """A refresh by hand, in no context, loads all; columns that people added keep their values."""
    found = place(REGIONS, restrict=[LIMIT])
    write(
        found,
        "alter table public.t add column mine string",
        "update public.t set mine = 'of ' || id",
    )
    found.replica.at_source(DOUBLED, "delete from t where id = 5")
    assert found.replica.replicate().refresh.tables == {"public.t": 2}
    assert ask(found, AMOUNTS) == [(1, 20), (2, 20), (3, 60), (4, 40), (6, 60)]
    assert ask(found, "select distinct mine = 'of ' || id from public.t") == [(True,)]
    write(
        found,
        "alter table public.t drop column mine",
    )
    found.replica.at_source("update t set amount = 7 where id = 2", "delete from t where id = 4")
    found.replica.replicate()
    assert ask(found, "select id, amount from public.t where region = 0 order by id") == [(2, 7), (6, 60)]
    found.replica.at_source("truncate t", "insert into t values (1, 1, 0, 'again')")
    found.replica.replicate()
    assert ask(found, "select id, note from public.t order by id") == [(1, "again"), (2, "n"), (6, "n")]
    assert found.replica.refresh("public.t").tables == {"public.t": 1}
    found.replica.check_equal()


def test_a_condition_in_a_context_of_its_own(place: Any) -> None:
    found = place(REGIONS, restrict=[{**LIMIT, "context": "nightly"}])
    write(
        found,
        "update public.t set amount = 0",
        "delete from public.t where id > 4",
    )
    assert found.replica.refresh("public.t", options="-Cnightly").tables == {"public.t": 3}
    assert ask(found, AMOUNTS) == [(1, 10), (2, 0), (3, 30), (4, 0), (5, 50)]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_until_the_rows_are_read_comes_once(place: Any, seed: int) -> None:
    """Also where rows come into the condition, leave it, change their keys; each stage may be killed."""
    of = random.Random(seed)
    found = place(REGIONS, restrict=[LIMIT])
    found.replica.at_source(DOUBLED)
    for stage in ("capture", "adapt", "refresh", "integrate"):
        for _ in range(of.randrange(12)):
            found.replica.at_source(_write(of))
        run_and_die(stage, found.replica.file, f"*:{of.randrange(1, 9)}")
        with flow.open_channel(found.replica.file, InProcess()) as run:
            getattr(flow, stage)(run)
    for _ in range(2):
        for _ in range(of.randrange(4)):
            found.replica.at_source(_write(of))
        found.replica.replicate()
    plain = "select id, region, note from {}t order by id"
    assert ask(found, plain.format("public.")) == at_source(found.replica, plain.format(""))
    inside = "select id, amount from {}t where region = 1 order by id"
    assert ask(found, inside.format("public.")) == at_source(found.replica, inside.format(""))


def _write(of: random.Random) -> str:
    one, other = of.randrange(1, 9), of.randrange(1, 9)
    return of.choice(
        [
            f"insert into t values ({one}, {of.randrange(2)}, {other}, 'new') on conflict do nothing",
            f"update t set region = 1 - region, amount = {other} where id = {one}",
            f"update t set note = note || '.', amount = {other} where id = {one}",
            f"delete from t where id = {one}",
            f"update t set id = {other} where id = {one} and not exists (select from t where id = {other})",
        ]
    )


def test_random_changes_and_loads_of_deleted_rows_and_histories(databases: Databases, tmp_path: Path) -> None:
    """Two files from one source; runs are killed at fail points."""
    kept = {**KEPT, "targets": "warehouse", "extra": {"w": "{commit_time}"}}
    each = {"tables": "t", "targets": "second", "time_key": True, "extra": HISTORY}
    targets = [{"name": name, "location": f"duckdb://{tmp_path}/{name}.duckdb"} for name in ("warehouse", "second")]
    found = places.duckdb(tmp_path, databases.source, targets=targets, target_tables=[kept, each])
    found.replica.at_source("create table t (id int primary key, k int, v text, n numeric(9,2))")
    found.replica.activate()
    chance, added = random.Random(7), list[str]()
    for cycle in range(6):
        for number in range(4):
            work = [_change(chance) for _ in range(chance.randint(1, 12))]
            if number == 0:
                work.append(_ddl(chance, added, cycle))
            try:
                found.replica.at_source(f"begin; {'; '.join(work)}; commit")
            except psycopg.Error:
                assert number
        if cycle % 2:
            run_and_die("replicate", found.replica.file, f"*:{chance.randrange(1, 30)}")
        if cycle % 3 == 2:
            found.replica.refresh("public.t")
        found.replica.settle()


def _change(chance: random.Random) -> str:
    one, other, k = (chance.randint(1, 8) for _ in range(3))
    return chance.choice(
        [
            f"insert into t (id, k, v, n) values ({one}, {k}, 'x{k}', {k}) on conflict do nothing",
            f"insert into t (id, k) values ({one}, {k}) on conflict (id) do update set k = excluded.k",
            f"update t set k = {k} where id = {one}",
            f"delete from t where id = {one}",
            f"delete from t where id = {other}",
            f"update t set id = {other} where id = {one} and not exists (select from t where id = {other})",
        ]
    )


def _ddl(chance: random.Random, added: list[str], number: int) -> str:
    kind = chance.choice(["int", "text default 'd'", "int not null default 3", "drop", "truncate"])
    if kind == "truncate":
        return "truncate t"
    if kind == "drop":
        return f"alter table t drop {added.pop()}" if added else "alter table t alter k set default 1"
    added.append(f"c{number}")
    return f"alter table t add c{number} {kind}"


def test_a_computed_column_is_refused_by_name(databases: Databases, tmp_path: Path) -> None:
    found = places.duckdb(tmp_path, databases.source, target_tables=[{"tables": "t", "extra": {"s": "price + 1"}}])
    found.replica.at_source(*TABLE)
    with pytest.raises(Unsupported, match=r"ADP-164: .*does not compute columns: s"):
        found.replica.activate()


def test_rows_that_the_source_deletes_stay_where_a_load_leaves_them(place: Any) -> None:
    """A mask for inserts or updates is refused, and nothing is changed."""
    found = place(REGIONS, adapt_ddl=[{"table": "*", "keep_old_rows": True}])
    found.replica.at_source("alter table t alter amount type text using 'n' || amount", "delete from t where id = 5")
    found.replica.replicate()
    write(
        found,
        "insert into public.t values (99, 1, 'x', 'of nobody')",
    )
    found.replica.refresh("public.t", options="-gr -md")
    rows = ask(found, AMOUNTS)
    assert rows[0] == (1, "n10") and rows[-1] == (99, "x") and 99 not in dict(rows[:-1])
    with pytest.raises(DdlReplError, match="ADP-140"):
        found.replica.refresh("public.t", options="-gr -mi")
    assert ask(found, AMOUNTS) == rows
