"""This module reads which tables, and views, a DuckDB file has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_COLUMNS = """
SELECT column_name, data_type FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index
"""
_DEFAULTS = """
SELECT column_name, column_default FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? AND column_default IS NOT NULL
"""


def name_beside(name: TableName) -> TableName:
    """Return the name of the table that is made beside another one, to take its place in the same transaction."""
    return TableName(name.schema, f"{name.name}__ddlrepl")


def columns_there(connection: Connection, name: TableName) -> dict[str, str]:
    """Return DuckDB's type of each column of a table or view, by its name; nothing where there is no such table."""
    return dict(connection.execute(_COLUMNS, [*name]).fetchall())


def defaults_there(connection: Connection, name: TableName) -> dict[str, str]:
    """Return the SQL of each default of a table's columns, by the column's name."""
    return dict(connection.execute(_DEFAULTS, [*name]).fetchall())


def name_there(connection: Connection, name: TableName) -> TableName | None:
    """Return the name of the table that DuckDB finds by this one, in upper and lower case as it is there."""
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()"
    same = "lower(schema_name) = lower(?) AND lower(table_name) = lower(?)"
    found = connection.execute(f"{query} AND {same}", [*name]).fetchall()
    return TableName(*found[0]) if found else None
