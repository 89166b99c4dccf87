"""A comparison of a lake finds what a wrong conversion gives, and its memory does not grow with the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from airflow_ddlrepl.compare.report import Kind
from airflow_ddlrepl.engines.comparing import CompareTask, compare_tables
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.compare import compare as module
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.ports.rows import TextRows

pytestmark = pytest.mark.xdist_group("spark")

T = TableName("public", "t")
TYPES = {
    "id": ("bigint", "BIGINT"),
    "price": ("numeric(12,8)", "DECIMAL(12,8)"),
    "at": ("timestamptz", "TIMESTAMP"),
    "day": ("date", "DATE"),
    "share": ("float8", "DOUBLE"),
    "data": ("bytea", "BINARY"),
    "ok": ("boolean", "BOOLEAN"),
    "note": ("text", "STRING"),
}
COLUMNS = tuple(Column(place, name, column_type(of)) for place, (name, (of, _)) in enumerate(TYPES.items(), 1))
SHAPE = Table(1, T, COLUMNS, key=Key((1,), "t_pkey", is_primary=True))
TEXTS = ("1.00000001", "2024-01-01 08:00:00+00", "0044-03-15 BC", "-0", "\\x00ff", "t", "é")
"""Of the row with id 0, without its id."""


@dataclass(frozen=True)
class Texts(TextRows):
    """Rows as a source writes them. count: how many; read: how often they were read, one entry each."""

    count: int = 1
    read: list[int] = field(default_factory=list)

    def batches(self) -> Iterator[pa.RecordBatch]:
        self.read.append(self.count)
        for start in range(0, self.count, 10_000):
            ids = [str(i) for i in range(start, min(start + 10_000, self.count))]
            texts: list[Any] = [ids, *([text] * len(ids) for text in TEXTS)]
            yield pa.RecordBatch.from_arrays([pa.array(one, pa.string()) for one in texts], list(TYPES))


def filled(window: Window, count: int) -> None:
    """The lake's table, with the rows that `Texts` has."""
    window.create(T, ", ".join(f"`{name}` {of}" for name, (_, of) in TYPES.items()))
    values = (
        "CAST('1.00000001' AS DECIMAL(12,8)), TIMESTAMP '2024-01-01 08:00:00+00:00', DATE '-0043-03-15',"
        " CAST('-0' AS DOUBLE), X'00ff', true, 'é'"
    )
    window.spark.sql(f"INSERT INTO {window.table(T)} SELECT id, {values} FROM range({count})")


def flipped(window: Window, location: str) -> None:
    with writing(location) as connection:
        window.flip(connection)


def task(location: str, rows: Texts) -> CompareTask:
    return CompareTask(rows, location, SHAPE, T, SHAPE)


def test_what_a_wrong_conversion_gives_is_a_difference(
    window: Window, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load's conversion is not asked at all; a value that a reader sees otherwise is told by its column."""
    monkeypatch.setattr(type(POSTGRES_VALUES), "converted", None)
    filled(window, 3)
    flipped(window, location)
    rows = Texts(COLUMNS, POSTGRES_VALUES, count=3)
    (report,) = compare_tables([task(location, rows)])
    assert (report.differences, report.source_rows, report.target_rows, report.columns) == (0, 3, 3, 8)
    assert len(rows.read) == 1
    wrong = {
        "price": "price + CAST('0.00000001' AS DECIMAL(12,8))",
        "at": "at + INTERVAL 1 MICROSECOND",
        "day": "DATE '-0044-03-15'",
        "share": "CAST('5e-324' AS DOUBLE)",
        "data": "X'00fe'",
        "ok": "NULL",
        "note": "'e'",
    }
    changed = Window(location, "changed")
    for name, value in wrong.items():
        changed.spark.sql(f"UPDATE {changed.table(T)} SET `{name}` = {value} WHERE id = 1")
    flipped(changed, location)
    (report,) = compare_tables([task(location, rows)])
    assert [(row.kind, row.key, row.columns) for row in report.rows] == [(Kind.DIFFERENT, "(1)", tuple(wrong))]


def test_equal_rows_are_not_gathered_and_of_others_only_those_of_their_parts(
    window: Window, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is gathered is counted: a table that is equal is read, and nothing of it is stored."""
    gathered: list[int] = []
    copy = module._Comparison._copy

    def counted(self: Any, where: str = "true") -> None:
        copy(self, where)
        gathered.append(self.connection.execute(f"SELECT count(*) FROM {module._TARGET}").fetchall()[0][0])

    monkeypatch.setattr(module._Comparison, "_copy", counted)
    filled(window, 50_000)
    flipped(window, location)
    rows = Texts(COLUMNS, POSTGRES_VALUES, count=50_000)
    (report,) = compare_tables([task(location, rows)])
    assert (report.differences, gathered) == (0, [])
    changed = Window(location, "changed")
    changed.spark.sql(f"DELETE FROM {changed.table(T)} WHERE id = 7")
    flipped(changed, location)
    (report,) = compare_tables([task(location, rows)])
    assert [(row.kind, row.key) for row in report.rows] == [(Kind.MISSING, "(7)")]
    assert len(gathered) == 1 and gathered[0] < 100
