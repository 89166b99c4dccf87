"""Texts are read as values of a lake's types by loads and changes as by comparisons, which DuckDB makes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_ddlrepl.engines.duckdb_sql import read_texts as by_duckdb
from airflow_ddlrepl.engines.lake.types import read_texts as by_lake
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.column_types import column_type

TYPES = {
    "smallint": "INTEGER",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "numeric(4,1)": "DECIMAL(4,1)",
    "numeric": "VARCHAR",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "bytea": "BLOB",
    "varchar(5)": "VARCHAR",
    "text": "VARCHAR",
}
"""DuckDB's types of what a lake holds such columns as."""
TEXTS = [
    None, "", " ", "0", "-0", "+7", " 0012 ", "1.5", "1.25", "-1.25", ".5", "5.", "1e2", "1e-60", "1e400", "NaN", "nan",
    "Infinity", "-infinity", "inf", "2147483647", "2147483648", "-9223372036854775808", "9223372036854775808", "999.94",
    "999.95", "12345", "007.50", "-0.0", "t", "OFF", "yes", "of", "x", "true ", "\\x00ff", "\\x0", "\\xFF", "häßlich",
    "2026-03-01", "2026-02-30", "0044-03-15 BC", "2026-03-01 12:00:00", "2026-03-01 12:00:00.123456+02", "2024-02-29",
    "2026-03-01T23:59:59.5-03:30", "2026-03-01 24:00:00", "12345-06-07", "2026-03-01 12:00:00.1234567", "0001-01-01",
]  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_both_read_the_same_values(text: str) -> None:
    column, of = Column(1, "x", column_type(text)), TYPES[text]
    texts = pa.array(TEXTS, pa.string())
    wanted = by_duckdb.values_of({"x": texts}, {"x": of}, lambda sql, _: by_duckdb.read(sql, column, of))["x"]
    found = by_lake.read(texts, column)
    if pa.types.is_timestamp(found.type) or pa.types.is_date(found.type):  # Python has no year before 1
        as_number = pa.int64() if pa.types.is_timestamp(found.type) else pa.int32()
        found, wanted = found.cast(as_number), wanted.cast(as_number)
    pairs = {
        one: (str(here), str(there))
        for one, here, there in zip(TEXTS, found.to_pylist(), wanted.to_pylist(), strict=True)
    }
    assert {one: pair for one, pair in pairs.items() if pair[0] != pair[1]} == {}
    reasons = by_duckdb.values_of({"x": texts}, {"x": "VARCHAR"}, lambda sql, _: by_duckdb.why_not(sql, column, of))[
        "x"
    ]
    assert by_lake.why_not(texts, column).to_pylist() == reasons.to_pylist()


def test_a_text_that_is_no_value_is_named() -> None:
    column = Column(1, "code", column_type("integer"))
    assert by_lake.required(pa.array(["7", None]), column).to_pylist() == [7, None]
    with pytest.raises(RowsRefused, match='INT-105: column code: invalid input syntax for type integer: "two"'):
        by_lake.required(pa.array(["7", "two"]), column)
