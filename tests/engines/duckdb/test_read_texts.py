"""A text that a DuckDB file reads as a value of another type is the value that PostgreSQL reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.instances import scratch
from airflow_ddlrepl.engines.duckdb_sql.read_texts import is_read, read, required
from airflow_ddlrepl.engines.duckdb_sql.text_sql import to_text
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.notation.column_types import column_type

TEXTS = (
    *("", " ", "1", "007", "+7", " 12 ", "1.5", "-1.005", "1.005", ".5", "5.", "1e3", "5e-5", "1_000", "0x1F", "-0"),
    *("+00.50", "-0.0", "999.995", "99999", "12345678901234567890", "9" * 39, "1e39", "1e400", "1e-400", "NaN", "inf"),
    *("-Infinity", "on", "off", "TRUE ", "y", "no", "t", "fals", "2024-01-05", "2024-1-5", "20240105", "01/02/2024"),
    *("2024-02-30", "24-01-05", "2024-01-05 x", "2024-01-05 10:00:00+02", "2024-01-05T10:00:00Z", "0044-03-15 BC"),
    *("2024-01-05 10:00:00.1234567", "2024-01-05 10:00:00.5", "0044-03-15 10:00:00+00 BC", "294277-01-01 00:00:00"),
    *("2024-01-05 23:30:00-03:30", "5874897-12-31", "10:00", "24:00:00", "25:00", "10:61", "00:00:00.5", "10:00+02"),
    *('{"a": 1}', "{a", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "x", "\\xaB"),
    *("\\xzz", "abcdef", "äöüäö"),
)
TYPES = (
    *("smallint", "integer", "bigint", "numeric", "numeric(5,2)", "numeric(38,4)", "real", "boolean"),
    *("double precision", "text", "varchar(5)", "date", "time", "timestamp", "timestamptz", "uuid", "bytea", "json"),
)
NOT_HELD = ("NaN", "Infinity", "-Infinity", "294277-01-01 00:00:00", "294277-01-01 00:00:00+00")
"""Of decimals, and of moments (docs/duckdb.md)."""


def ours(of: str, texts: Collection[str]) -> dict[str, str | None]:
    sql = read("v", Column(1, "c", column_type(of)), physical(column_type(of)))
    with scratch() as connection:
        query = f"SELECT {to_text(f'({sql})', physical(column_type(of)))} FROM (SELECT CAST(? AS VARCHAR) AS v)"
        return {text: connection.execute(query, [text]).fetchall()[0][0] for text in texts}


def theirs(url: str, of: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'")
        for text in TEXTS:
            try:
                row: Any = connection.execute(f"SELECT CAST(%s::text AS {of})::text".encode(), [text]).fetchone()
                found[text] = row[0]
            except psycopg.Error:
                found[text] = None
    return found


@pytest.mark.parametrize("of", TYPES)
def test_what_is_read_is_what_postgresql_reads(databases: Any, of: str) -> None:
    def plain(text: str | None) -> Any:
        """A float is written otherwise."""
        return str(float(text)) if of in ("real", "double precision") and text is not None else text

    wanted = theirs(databases.source, of)
    found = {text: value for text, value in ours(of, TEXTS).items() if value is not None}
    assert {text: plain(value) for text, value in found.items()} == {text: plain(wanted[text]) for text in found}
    written = {text for text in wanted.values() if text is not None}
    assert {text for text, value in ours(of, written).items() if value is None} <= {*NOT_HELD}


def test_a_type_whose_size_or_texts_duckdb_does_not_know_is_not_read() -> None:
    for of in TYPES:
        assert is_read(column_type(of), physical(column_type(of)))
    for of in ("interval", "inet", "cidr", "timestamp(3)", "time(0)", "timestamptz(2)", "numeric(60,2)"):
        assert not is_read(column_type(of), physical(column_type(of)))


def test_a_value_that_has_to_be_read_fails_with_its_column() -> None:
    import duckdb

    sql = required("v", Column(1, "code", column_type("integer")), "INTEGER")
    with scratch() as connection, pytest.raises(duckdb.Error, match=r'column code: invalid input .* integer: "two"'):
        connection.execute(f"SELECT {sql} FROM (VALUES ('1'), (NULL), ('two')) AS t(v)").fetchall()
