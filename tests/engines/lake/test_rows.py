"""Rows reach a lake typed, by a load and by the log, and are compared with the source's by their values."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conformance.test_typed_values import COLUMNS
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = pytest.mark.xdist_group("spark")

KEYLESS, TYPED = TableName("public", "keyless"), TableName("public", "typed")


@pytest.fixture
def lake(databases: Databases, tmp_path: Path) -> Lake:
    return Lake(databases.source, tmp_path)


def test_a_row_of_the_log_is_the_row_of_a_load(lake: Lake) -> None:
    columns = ", ".join(f"{name} {of}" for name, (of, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values())
    names = ", ".join(COLUMNS)
    lake.at_source(
        f"create table typed (id int primary key, {columns})",
        f"insert into typed (id, {names}) values (1, {values})",
        f"create table keyless ({columns})",
        f"insert into keyless values ({values})",
    )
    lake.activate()
    lake.at_source(
        f"insert into typed (id, {names}) values (2, {values})",
        f"insert into keyless values ({values}), ({values})",
        "insert into typed (id) values (3)",
    )
    lake.settle()
    lake.at_source(
        "update typed set n = n + 1, t = null where id = 2; update typed set n = n - 1, t = 'it''s' where id = 2",
        "delete from keyless where ctid in ('(0,1)', '(0,2)'); delete from typed where id = 3",
    )
    lake.settle()
    loaded, logged = lake.read(TYPED)
    assert {**loaded, "id": ""} == {**logged, "id": ""}
    (left,) = lake.read(KEYLESS)
    assert left == {name: loaded[name] for name in COLUMNS}
    assert (loaded["m"], loaded["v"], loaded["h"]) == ("NaN", "1 year -2 days +03:00:00", "24:00:00")
    assert (loaded["d"], loaded["z"]) == ("0044-03-15 (BC)", "2026-11-27 08:00:00.5+00")


def test_a_comparison_finds_rows_that_differ_by_their_keys(lake: Lake) -> None:
    lake.at_source(
        "create table typed (id int, k text, n numeric(5,2), d date, f float8, primary key (id, k))",
        "insert into typed values (1, 'a b', 1, 'infinity', 'NaN'), (2, '', 2, '0044-03-15 BC', '-0')",
        "insert into typed values (3, 'c', 3, null, null), (4, 'new', 4, 'infinity', 'NaN')",
        "create table keyless (v int)",
        "insert into keyless values (1), (1), (1), (2)",
    )
    lake.activate()
    lake.settle()
    lake.by_hand(
        TYPED,
        "UPDATE {} SET d = DATE '2020-01-01', n = NULL WHERE id = 1",
        "DELETE FROM {} WHERE id = 4",
        "INSERT INTO {} VALUES (5, '', NULL, NULL, NULL)",
    )
    lake.by_hand(KEYLESS, "DELETE FROM {} WHERE v = 1", "INSERT INTO {} VALUES (1), (7)")
    report = lake.compare()
    by_name = {table.table.name: table for table in report.tables}
    typed, keyless = by_name["typed"], by_name["keyless"]
    assert (typed.missing, typed.extra, typed.different) == (1, 1, 1)
    assert {(str(row.kind), row.key, row.columns) for row in typed.rows} == {
        ("missing", "(4,new)", ()), ("extra", '(5,"")', ()), ("different", '(1,"a b")', ("n", "d")),
    }  # fmt: skip
    assert {(str(row.kind), row.key, row.copies) for row in keyless.rows} == {
        ("missing", "(1)", 2), ("extra", "(7)", 1),
    }  # fmt: skip
    assert (keyless.source_rows, keyless.target_rows, keyless.missing) == (4, 3, 2)


def test_columns_that_people_added_stay_by_key_when_a_table_is_loaded_again(lake: Lake) -> None:
    lake.at_source("create table typed (id int primary key, t text)", "insert into typed values (1, 'one'), (2, 'two')")
    lake.activate()
    lake.settle()
    lake.by_hand(TYPED, "ALTER TABLE {} ADD COLUMN note STRING", "UPDATE {} SET note = 'mine' WHERE id = 1")
    lake.at_source("update typed set t = 'ONE' where id = 1", "insert into typed values (3, 'three')")
    lake.refresh("public.typed")
    assert [(row["id"], row["t"], row["note"]) for row in lake.read(TYPED)] == [
        ("1", "ONE", "mine"), ("2", "two", None), ("3", "three", None),
    ]  # fmt: skip
