"""This module writes names and texts as PostgreSQL reads them; every raw name that goes into SQL is quoted here."""

from __future__ import annotations

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table


def quote(name: str) -> str:
    """Return a name as one quoted identifier. Raises ConfigError CFG-120 for a name PostgreSQL can't hold."""
    if not name or "\0" in name:
        raise ConfigError(
            f"{name!r} is no name of a PostgreSQL object", code="CFG-120", hint="give it at least one character"
        )
    return '"' + name.replace('"', '""') + '"'


def qualified(table: TableName) -> str:
    """Return the name of a table as `"schema"."name"`."""
    return f"{quote(table.schema)}.{quote(table.name)}"


def rows_of(table: Table) -> str:
    """Return what FROM names for the rows of a table: no other table's that inherits from it, but its partitions'."""
    return qualified(table.name) if table.is_partitioned else f"ONLY {qualified(table.name)}"


def literal(text: str) -> str:
    """Return a text as a string constant that reads alike whatever `standard_conforming_strings` is."""
    if "\0" in text:
        raise ConfigError("a text for PostgreSQL can't contain a zero byte", code="CFG-121", hint="remove it")
    body = text.replace("'", "''")
    return " E'" + body.replace("\\", "\\\\") + "'" if "\\" in text else f"'{body}'"
