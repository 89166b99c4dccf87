"""A PostgreSQL target loads and compares rows of any engine: as text, without a server that has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared, compare_tables
from airflow_ddlrepl.engines.loading import LoadTask, load_chunks
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.load.swap import make_shadow
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.rows import TypedRows
from tests.support.replica import run

NAMES = ("id", "v", "many")
ROWS = [("1", 'a "b"\t\\N\nü', '{"x,y",NULL}'), ("2", None, None), ("3", "", "{}")]


@dataclass(frozen=True)
class Rows:
    """Rows that no PostgreSQL server has."""

    rows: Sequence[tuple[str | None, ...]]
    size: int = 100

    def batches(self) -> Iterator[pa.RecordBatch]:
        for row in self.rows:
            yield pa.RecordBatch.from_arrays([pa.array([value], pa.string()) for value in row], names=list(NAMES))

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        return (TypedRows(batch.cast(schema), {}) for batch in self.batches())

    def native(self, codec: str) -> None:
        return None


@pytest.fixture
def table(databases: Any) -> Table:
    run(databases.target, "CREATE TABLE t (id int PRIMARY KEY, v text, many text[])")
    with connect(databases.target) as connection:
        return inspect(connection)[0]


def test_rows_are_loaded_as_text(databases: Any, table: Table) -> None:
    shadow = TableName("ddlrepl", "r_test")
    with connect(databases.target) as connection:
        state.prepare(connection, "c", Position(0), 0, 1)
        make_shadow(connection, table, shadow)
    (loaded,) = load_chunks([LoadTask(databases.target, Rows(ROWS), table.name, shadow, NAMES, NAMES, "1", "c/1/0")])
    assert (loaded.rows, loaded.error) == (3, None)
    with psycopg.connect(databases.target) as connection:
        found = connection.execute("SELECT id::text, v, many::text FROM ddlrepl.r_test ORDER BY id").fetchall()
    assert found == ROWS


def test_rows_are_compared_with_those_of_the_target(databases: Any, table: Table) -> None:
    with psycopg.connect(databases.target) as connection:
        connection.cursor().executemany("INSERT INTO t VALUES (%s::text::int, %s, %s::text::text[])", ROWS)
    assert columns_compared(table, table) == NAMES

    def report(rows: Sequence[tuple[str | None, ...]], target: str = "t") -> Any:
        name = TableName("public", target)
        return compare_tables([CompareTask(Rows(rows), databases.target, table, name, table)])[0]

    same = report(ROWS)
    assert (same.differences, same.source_rows, same.target_rows, same.columns) == (0, 3, 3, 3)
    other = report([*ROWS[:1], ("2", "", None), ("4", None, None)])
    assert [(row.kind.value, row.key, row.columns) for row in other.rows] == [
        ("different", "(2)", ("v",)),
        ("extra", "(3)", ()),
        ("missing", "(4)", ()),
    ]
    absent = report(ROWS, "absent")
    assert (absent.missing, absent.source_rows) == (3, 3)
