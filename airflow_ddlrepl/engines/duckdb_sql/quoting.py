"""This module quotes names and texts for DuckDB's SQL."""

from __future__ import annotations

from airflow_ddlrepl.model.names import TableName


def quote(name: str) -> str:
    """Return a name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def qualified(name: TableName) -> str:
    """Return the name of a table with its schema."""
    return f"{quote(name.schema)}.{quote(name.name)}"
