"""Rows with an integer key are looked for between the lowest and the highest key of those that are staged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.merge import inline_rows
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged
from tests.support.merging import Pair


@pytest.fixture
def pair(databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    monkeypatch.setattr(inline_rows, "MOST_ROWS", 0)
    one = Pair(databases, tmp_path)
    yield one
    one.close()


def table(pair: Pair, type_: str, low: int, high: int) -> None:
    pair.both(f"create table t (id {type_} primary key, note text)")
    pair.both(f"insert into t select i, 'note' || i from generate_series({low}, {high}) i")
    pair.target.execute("analyze t")
    pair.start()


def staged_alone(pair: Pair, *statements: str) -> Staged:
    pair.do(*statements)
    (one,) = pair.stage(pair.tasks(pair.capture()))
    return one


def rows_scanned(pair: Pair) -> int:
    pair.target.execute("select pg_stat_force_next_flush()")
    (found,) = pair.target.execute("select seq_tup_read from pg_stat_user_tables where relname = 't'").fetchone() or (
        0,
    )
    return int(found)


def test_a_large_table_is_not_read_for_rows_that_lie_side_by_side(pair: Pair) -> None:
    table(pair, "int", 1, 200_000)
    before = rows_scanned(pair)
    pair.replicate(
        "update t set note = 'new' where id between 120001 and 130000",
        "delete from t where id between 130001 and 138000",
        "update t set id = id - 1000000 where id between 100001 and 110000",
    )
    assert rows_scanned(pair) == before
    assert pair.same("t")


@pytest.mark.parametrize(
    ("type_", "low"), [("smallint", -(2**15)), ("int", -(2**31)), ("bigint", -(2**63)), ("bigint", 2**63 - 101)]
)
def test_each_integer_type_has_its_ends(pair: Pair, type_: str, low: int) -> None:
    table(pair, type_, low, low + 100)
    one = staged_alone(pair, f"delete from t where id < {low} + 50", "update t set note = note || '!'")
    assert one.ranges == {Stage.DELETES: (low, low + 49), Stage.UPDATES: (low + 50, low + 100)}
    pair.merge([one])
    assert pair.same("t")


@pytest.mark.parametrize("key", ["id text primary key", "id numeric primary key", "id int, k int, primary key (id, k)"])
def test_other_keys_have_no_range(pair: Pair, key: str) -> None:
    pair.both(f"create table t ({key}{'' if ' k ' in key else ', k int'})")
    pair.both("insert into t (id, k) select i, i from generate_series(1, 20) i")
    pair.start()
    one = staged_alone(pair, "delete from t")
    assert not one.ranges
    pair.merge([one])
    assert pair.same("t")


def test_the_rows_are_found_where_the_target_has_another_type(pair: Pair) -> None:
    table(pair, "int", 1, 20)
    pair.target.execute("alter table t alter id type numeric")
    pair.replicate("delete from t where id <= 5", "update t set note = 'new' where id > 10")
    assert pair.source.execute("select * from t order by 1").fetchall() == (
        pair.target.execute("select id::int, note from t order by 1").fetchall()
    )
