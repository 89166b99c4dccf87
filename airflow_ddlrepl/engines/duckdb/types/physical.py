"""This module says as which type of DuckDB a column of a source's type is held, and how its text is read.

Types that DuckDB has no equal of are held as VARCHAR, which has the source's text of each value.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.connection.quoting import literal
from airflow_ddlrepl.engines.held_types.type_names import held_as
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition

TEXT, JSON = "VARCHAR", "JSON"
_PLAIN = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "oid": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "bytea": "BLOB",
    "uuid": "UUID",
    "date": "DATE",
    "time": "TIME",
    "time without time zone": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "json": JSON,
    "jsonb": JSON,
}


def physical(of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
    """Return DuckDB's type for a type; types: the definitions of the table's user-defined types."""
    return held_as(of, types, _PLAIN, TEXT)


def columns_sql(table: Table) -> dict[str, str]:
    """Return DuckDB's type of each column of a table, by the column's name."""
    return {column.name: physical(column.type, table.types) for column in table.columns}


def from_text(sql: str, to: str, cast: str = "CAST") -> str:
    """Return SQL that reads the source's text of a value, which `sql` gives, as a value of a type of DuckDB.

    cast: TRY_CAST reads a text that is no such value as NULL.
    """
    if to == TEXT:
        return sql
    if to == "BLOB":
        return f"unhex(substr({sql}, 3))"
    if to == "DATE":
        return f"{cast}(replace({sql}, ' BC', ' (BC)') AS DATE)"
    if to.startswith("TIMESTAMP"):
        before = f"regexp_replace({sql}, '^(\\S+) (.*) BC$', '\\1 (BC) \\2')"
        return f"{cast}(CASE WHEN {sql} LIKE '% BC' THEN {before} ELSE {sql} END AS {to})"
    return f"{cast}({sql} AS {to})"


def to_text(sql: str, of: str) -> str:
    """Return SQL for a text that the source reads as a value, which `sql` gives in a type of DuckDB."""
    if of == "BLOB":
        return f"('\\x' || lower(hex({sql})))"
    text = f"CAST({sql} AS {TEXT})"
    if of == "DATE" or of.startswith("TIMESTAMP"):
        return f"CASE WHEN {text} LIKE '% (BC)%' THEN replace({text}, ' (BC)', '') || ' BC' ELSE {text} END"
    return text


def as_written(sql: str, of: str) -> str:
    """Return SQL for the text that the source writes for a value, which `sql` gives in a type of DuckDB."""
    if of == "BOOLEAN":
        return f"CASE {sql} WHEN true THEN 't' WHEN false THEN 'f' END"
    if of in ("FLOAT", "DOUBLE"):
        return f"regexp_replace({to_text(sql, of)}, '[.]0$', '')"
    return to_text(sql, of)


def is_literal(text: str, to: str) -> bool:
    """Does DuckDB read the source's text of a value as it is?"""
    return to == TEXT or (to != "BLOB" and not text.endswith(" BC"))


def value(text: str | None, column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return SQL for a value of a column whose text at the source is known; None is NULL."""
    to = physical(column.type, types)
    return f"CAST(NULL AS {to})" if text is None else from_text(literal(text), to)
