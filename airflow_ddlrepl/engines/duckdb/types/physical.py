"""This module says as which type of DuckDB a column of a source's type is held.

Types that DuckDB has no equal of are held as VARCHAR, which has the source's text of each value.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb_sql.quoting import literal
from airflow_ddlrepl.engines.duckdb_sql.text_sql import JSON, TEXT, from_text
from airflow_ddlrepl.engines.held_types.type_names import held_as
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition

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


def value(text: str | None, column: Column, types: Sequence[TypeDefinition]) -> str:
    """Return SQL for a value of a column whose text at the source is known; None is NULL."""
    to = physical(column.type, types)
    return f"CAST(NULL AS {to})" if text is None else from_text(literal(text), to)
