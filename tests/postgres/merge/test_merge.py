"""Rows reach the target set-wise and end up exactly as at the source."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.merge import inline_rows
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import require_rows
from airflow_ddlrepl.engines.postgres.target.cleanup import tables_to_drop
from airflow_ddlrepl.errors import TargetError, UnreadableRows
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.trail.store import Trail
from tests.support.merging import END, START, Pair
from tests.support.replica import run

VERSIONS = pytest.mark.parametrize("databases", [18, 15], indirect=True)


@pytest.fixture(params=["inline", "stored"])
def pair(
    request: pytest.FixtureRequest, databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pair]:
    """Few rows travel with the statements, many are copied into staging tables first."""
    if request.param == "stored":
        monkeypatch.setattr(inline_rows, "MOST_ROWS", 0)
    one = Pair(databases, tmp_path)
    yield one
    one.close()


@VERSIONS
def test_inserts_updates_and_deletes(pair: Pair) -> None:
    pair.both("create table t (id int primary key, a text, n numeric(10,2), at timestamptz)")
    pair.both("insert into t select i, 'a' || i, i / 3.0, 'epoch' from generate_series(1, 10) i")
    pair.start()
    counts = pair.replicate(
        "insert into t values (11, null, 'NaN', 'infinity'), (12, 'x', 1, now())",
        "update t set a = 'new' where id <= 4",
        "delete from t where id in (3, 12)",
        "delete from t where id = 5",
        "insert into t values (5, 'again', 5, now())",
    )["t"]
    assert pair.same("t")
    assert (counts.inserted, counts.updated, counts.deleted, counts.moved, counts.changes) == (1, 4, 1, 0, 10)
    assert pair.leftovers() == []


@VERSIONS
def test_keys_that_change_swap_and_come_back(pair: Pair) -> None:
    pair.both("create table t (id int, part text, v text, u int unique, primary key (id, part))")
    pair.both("insert into t select i, 'p', 'v' || i, i from generate_series(1, 9) i")
    pair.target.execute("alter table t add local text default 'kept'")
    pair.target.execute("alter table t alter local set default 'new'")
    pair.target.execute("alter table t add own int generated always as (id * 2) stored")
    pair.start()
    counts = pair.replicate(
        "begin; update t set id = 0 where id = 1; update t set id = 1 where id = 2;"
        " update t set id = 2 where id = 0; commit",
        "update t set id = id + 100 where id = 3",
        "insert into t values (3, 'p', 'other', 33)",
        "delete from t where id = 4",
        "update t set id = 4 where id = 5",
        "update t set part = 'q' where id = 6",
        "update t set part = 'r' where id = 6",
        "update t set part = 'p' where id = 6",
        "update t set id = 77 where id = 7",
        "delete from t where id = 77",
    )["t"]
    assert (
        pair.source.execute("select id, part, v, u from t order by 1, 2").fetchall()
        == pair.target.execute("select id, part, v, u from t order by 1, 2").fetchall()
    )
    assert counts.moved == 4
    kept = pair.target.execute("select id from t where local = 'kept' order by 1").fetchall()
    assert kept == [(1,), (2,), (4,), (6,), (8,), (9,), (103,)]


def test_unchanged_toast_stays(pair: Pair) -> None:
    big = "(select string_agg(md5(i::text), '') from generate_series(1, 500) i)"
    pair.both("create table t (id int primary key, big text, other bytea, n int)")
    pair.both("alter table t alter big set storage external, alter other set storage external")
    pair.both(f"insert into t select i, {big} || i, ({big} || i)::bytea, i from generate_series(1, 6) i")
    pair.start()
    pair.replicate(
        "update t set n = 10 where id = 1",
        f"update t set big = 'x' || {big} where id in (1, 2)",
        "update t set other = null where id = 3",
        "update t set id = 40 where id = 4",
        "update t set id = 41 where id = 40",
        "update t set n = 0 where id = 5; update t set other = 'z', id = 50 where id = 5",
    )
    assert pair.same("t")


@VERSIONS
def test_rows_without_a_key_are_counted(pair: Pair) -> None:
    pair.both("create table t (a int, b text, j json, f float8, n numeric)", "alter table t replica identity full")
    row = "(1, 'x', '{\"a\": 1}', '-0', 1.00)"
    pair.both(
        f"insert into t values {row}, {row}, {row}, (null, null, null, null, null), (1, 'x', '{{\"a\":1}}', 0, 1)"
    )
    pair.start()
    counts = pair.replicate(
        "delete from t where ctid in (select ctid from t where n::text = '1.00' limit 2)",
        f"insert into t values (2, '', null, 'NaN', 1.000), (2, '', null, 'NaN', 1.000), {row}",
        "update t set b = 'was null' where a is null",
    )["t"]
    assert pair.same("t")
    assert (counts.inserted, counts.deleted) == (3, 2)
    pair.replicate("delete from t")
    assert pair.same("t")


NASTY = ["select", 'a"b', "sp ace", "per%cent%s", "semi;colon--", "Ünïcödé😀", "x" * 63, "row", "c1", "back\\slash'q"]


def test_nasty_names(pair: Pair) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in NASTY]
    for name in quoted:
        columns = ", ".join(f"{column} text" for column in quoted[2:])
        key = f"primary key ({quoted[0]}, {quoted[1]})"
        pair.both(f"create table {name} ({quoted[0]} int, {quoted[1]} text, {columns}, {key})")
        values = ", ".join("'%s;'" for _ in quoted[2:])
        pair.both(f"insert into {name} select 1, 'k;' || i, {values} from generate_series(1, 3) i")
    pair.start()
    for name in quoted:
        pair.do(f"update {name} set {quoted[2]} = 'new%', {quoted[5]} = null where {quoted[1]} = 'k;1'")
        pair.do(f"update {name} set {quoted[1]} = 'moved''\"' where {quoted[1]} = 'k;2'")
        pair.do(f"delete from {name} where {quoted[1]} = 'k;3'")
        pair.do(f"insert into {name} ({quoted[0]}, {quoted[1]}) values (9, '%s')")
    counts = pair.replicate()
    assert len(counts) == len(NASTY)
    assert pair.same(*NASTY)


@VERSIONS
def test_identity_and_generated_columns(pair: Pair) -> None:
    pair.both(
        "create table t (id int generated always as identity primary key, n int generated by default as identity,"
        " a int, twice int generated always as (a * 2) stored)",
        "create table u (k text primary key, n int generated always as identity, v text)",
        "insert into t (a) select i from generate_series(1, 5) i",
        "insert into u (k, v) values ('a', 'x'), ('b', 'y')",
    )
    pair.start()
    pair.replicate(
        "insert into t (a) values (6), (7)",
        "update t set a = 100 where id = 2",
        "delete from t where id = 3",
        "delete from u where k = 'a'",
        "insert into u (k, v) values ('a', 'again')",
        "update u set v = 'z' where k = 'b'",
    )
    assert pair.same("t", "u")


def test_unique_values_that_wander_between_rows(pair: Pair) -> None:
    pair.both(
        "create table t (id int primary key, u int unique, big text)", "alter table t alter big set storage external"
    )
    pair.both("insert into t select i, i, repeat(md5(i::text), 200) from generate_series(1, 6) i")
    pair.start()
    pair.replicate(
        "begin; update t set u = 0 where id = 1; update t set u = 1 where id = 2;"
        " update t set u = 2 where id = 1; commit",
        "delete from t where id = 3",
        "insert into t values (30, 3, 'new')",
        "begin; update t set u = 50 where id = 5; update t set id = 44, u = 5 where id = 4;"
        " update t set u = 4 where id = 5; commit",
    )
    assert pair.same("t")
    pair.do("begin; update t set u = -u; update t set u = 7 + u; commit")
    pair.merge(pair.stage(pair.tasks(pair.capture()), buckets=3))
    assert pair.same("t")


def test_buckets_and_a_stage_that_runs_twice(pair: Pair) -> None:
    pair.both(
        "create table t (id text primary key, n numeric)",
        "insert into t select 'k' || i, i from generate_series(1, 500) i",
    )
    pair.start()
    pair.do(
        "update t set n = n + 0.5",
        "delete from t where n < 20",
        "insert into t select 'n' || i from generate_series(1, 50) i",
    )
    tasks = pair.tasks(pair.capture())
    pair.stage(tasks, buckets=3)
    staged = pair.stage(tasks, buckets=3)
    assert all(one.changes > 100 for one in staged)
    pair.merge(staged)
    assert pair.same("t")
    assert pair.leftovers() == []
    pair.do("update t set id = 'moved' where id = 'k400'", "update t set n = 0 where id = 'k401'")
    staged = pair.stage(pair.tasks(pair.capture()), buckets=3)
    assert [one.changes for one in staged] == [2, 0, 0]
    pair.merge(staged)
    assert pair.same("t")


def test_a_target_that_lost_rows_is_an_error(pair: Pair) -> None:
    pair.both("create table t (id int primary key, a text)", "insert into t values (1, 'a'), (2, 'b')")
    pair.target.execute("delete from t where id = 2")
    pair.start()
    pair.do("update t set a = 'c'")
    staged = pair.stage(pair.tasks(pair.capture()))
    with pytest.raises(TargetError, match="2 to update, 1 found") as error:
        pair.merge(staged)
    assert (error.value.code, error.value.table) == ("INT-101", "public.t")
    assert pair.target.execute("select * from t").fetchall() == [(1, "a")]
    pair.target.execute("insert into t values (2, 'b'), (3, 'there already')")
    pair.merge(staged)
    with pytest.raises(TargetError, match="already") as error:
        pair.replicate("insert into t values (3, 'x')")
    assert error.value.code == "INT-102"


@pytest.mark.parametrize("wire_format", ["binary", "text"])
def test_keys_that_are_equal_but_look_different(pair: Pair, wire_format: str) -> None:
    folded = "citext" if wire_format == "text" else "char(2)"
    pair.both(
        "create table n (id numeric primary key, v int)",
        "create table f (id float8 primary key, v int)",
        "create table b (id char(5) primary key, v int)",
        "create table i (id interval primary key, v int)",
        "create extension citext schema public",
        f"create table c (id {folded} primary key, v int)",
        "insert into n values (1, 1)",
        "insert into f values (0, 1)",
        "insert into b values ('a', 1)",
        "insert into i values ('1 day', 1)",
        "insert into c values ('a', 1)",
    )
    pair.start()
    counts = pair.replicate(
        "update n set id = 1.00",
        "update f set id = '-0'",
        "update b set id = 'a  ', v = 2",
        "update i set id = '24 hours'",
        "update i set v = 3",
        "update c set id = 'A'" if folded == "citext" else "update c set id = 'a '",
        "update c set v = 3",
        wire_format=wire_format,
    )
    assert pair.same("n", "f", "b", "i", "c")
    assert all(one.moved == 0 and one.updated == 1 for one in counts.values())
    pair.replicate(
        "update i set id = '2 days'", "update c set id = 'B'", "update n set id = 2.0", wire_format=wire_format
    )
    assert pair.same("n", "f", "b", "i", "c")


def test_partitions_are_merged_by_name(pair: Pair) -> None:
    pair.both(
        "create table p (id int, day date, v text, primary key (id, day)) partition by range (day)",
        "create table p1 partition of p for values from ('2020-01-01') to ('2021-01-01')",
        "create table p2 partition of p for values from ('2021-01-01') to ('2022-01-01')",
        "insert into p select i, '2020-06-01'::date + i, 'v' from generate_series(1, 300) i",
    )
    pair.start()
    pair.replicate("update p set day = day + 10", "delete from p where id < 20")
    assert pair.same("p1", "p2")


def test_columns_match_by_identity(pair: Pair) -> None:
    pair.both("create table t (id int primary key, a text, b int, c text)", "insert into t values (1, 'a', 1, 'c')")
    pair.target.execute(
        "alter table t rename a to renamed; alter table t drop b; alter table t alter c type varchar(10)"
    )
    pair.start()
    pair.do("insert into t values (2, 'aa', 2, 'cc')", "update t set a = 'new', b = 5 where id = 1")

    def at_target(shape: Any) -> Any:
        return next(t for t in inspect(pair.target) if t.name == shape.name)

    pair.merge(pair.stage(pair.tasks(pair.capture(), at_target)))
    assert pair.target.execute("select id, renamed, c from t order by 1").fetchall() == [
        (1, "new", "c"),
        (2, "aa", "cc"),
    ]


def test_skipped_transactions_leave_no_trace(pair: Pair) -> None:
    pair.both("create table t (id int primary key)")
    pair.start()
    pair.do("insert into t values (1)", "insert into t values (2)", "insert into t values (3)")
    (task,) = pair.tasks(pair.capture())
    lsns = Trail(task.trail_url, "shop").rows(task.files[0], START, END)["lsn"].to_pylist()
    pair.merge(pair.stage([replace(task, skip_lsns=frozenset(lsns[1:2]))]))
    assert pair.target.execute("select id from t order by 1").fetchall() == [(1,), (3,)]
    assert "postgresql" not in repr(task)


def test_younger_columns_show_what_the_source_shows(pair: Pair) -> None:
    pair.both("create table t (id int primary key, a text)")
    pair.target.execute("alter table t add b int not null default 7, add c text default 'own'")
    pair.start()
    pair.do("insert into t values (1, 'a')")
    pair.target.execute("alter table t alter b set default 8")

    def younger(shape: Table) -> Table:
        new = next(t for t in inspect(pair.target) if t.name == shape.name)
        return new.with_(columns=tuple(replace(c, missing="7") if c.name == "b" else c for c in new.columns))

    staged = pair.stage(pair.tasks(pair.capture(), younger))
    assert pickle.loads(pickle.dumps(staged)) == staged
    with pair.merging() as (cursor, _):
        assert tables_to_drop(cursor, "s_") == staged[0].stored
    pair.merge(staged)
    assert pair.target.execute("select * from t").fetchall() == [(1, "a", 7, "own")]


def test_staged_tables_of_a_window_that_touches_thousands(databases: Any) -> None:
    run(databases.target, "create schema ddlrepl", "create unlogged table ddlrepl.s (i int)")
    with psycopg.connect(databases.target) as connection, connection.cursor() as cursor:
        with pytest.raises(TargetError, match="INT-121"):
            require_rows(cursor, ["s"] * 12_000)
        cursor.execute("insert into ddlrepl.s values (1)")
        require_rows(cursor, ["s"] * 12_000)


def test_a_target_without_the_key_column(pair: Pair) -> None:
    pair.both("create table t (id int primary key, a text)")
    pair.start()
    pair.do("insert into t values (1, 'x')")
    tasks = pair.tasks(pair.capture(), lambda table: table.with_(columns=table.columns[1:], key=None))
    with pytest.raises(TargetError, match=r"INT-103: key columns are missing in the rows or the target: id") as caught:
        pair.stage(tasks)
    assert caught.value.table == "public.t" and "refresh the table" in caught.value.hint


def test_an_update_without_its_whole_old_row_in_a_table_without_a_key(pair: Pair) -> None:
    """The log was written when the table still had its key."""
    pair.both("create table t (id int primary key, a text)", "insert into t values (1, 'x')")
    pair.start()
    pair.do("update t set a = 'y'")
    files = pair.capture()
    pair.do("alter table t drop constraint t_pkey")
    with pytest.raises(TargetError, match=r"INT-111: .*without the old row") as caught:
        pair.stage(pair.tasks(files))
    assert "ddlrepl activate" in caught.value.hint


def test_a_target_that_stores_a_column_which_only_the_source_computes(pair: Pair) -> None:
    pair.source.execute("create table t (id int primary key, v int, twice int generated always as (v * 2) stored)")
    pair.target.execute("create table t (id int primary key, v int, twice int)")
    pair.start()
    pair.do("insert into t values (1, 2)")

    def stored(table: Table) -> Table:
        return table.with_(columns=tuple(replace(column, generated="") for column in table.columns))

    with pytest.raises(UnreadableRows, match=r"INT-107: the log has no values of twice") as caught:
        pair.stage(pair.tasks(pair.capture(), stored))
    assert caught.value.table == "public.t" and "refresh the table" in caught.value.hint
