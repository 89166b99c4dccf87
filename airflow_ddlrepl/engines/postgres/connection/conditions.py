"""This module writes row conditions as SQL, and asks a server whether it would take one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING_HERE
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part, Spelling
from airflow_ddlrepl.notation.condition.parser import spelled
from airflow_ddlrepl.notation.condition.row_limit import RowLimit


def is_true(condition: Part, column: Callable[[str], str] = quote) -> str:
    """Return the SQL of a condition, which is true or false, never NULL.

    column: returns the SQL for a column of the source.
    """
    return f"({condition.sql(Spelling(column, literal))}) IS TRUE"


def where(condition: Part | None) -> str:
    """Return SQL that is true for the rows that meet a condition; empty where there is none."""
    return is_true(condition) if condition is not None else ""


def unlike(condition: Part, here: Mapping[str, tuple[Column, Column]]) -> str:
    """Return SQL that is true for those rows of one of our tables that do not meet the condition.

    here: the source's column and the one that holds its values, by the source's name.
    """
    return f"({condition.sql(Spelling(lambda name: _value(*here[name]), literal))}) IS NOT TRUE"


def within(limit: RowLimit | None, alias: str) -> str:
    """Return SQL that is true for those rows of a target's table that a limit selects. alias: of the table."""
    if limit is None:
        return "true"
    return is_true(limit.condition, lambda name: _value(*limit.columns[name], f"{alias}."))


def _value(theirs: Column, ours: Column, alias: str = "") -> str:
    """Return SQL for a value of one of our columns, in the type that the source's column has."""
    name = f"{alias}{quote(ours.name)}"
    return name if theirs.type.text == ours.type.text else f"CAST(CAST({name} AS text) AS {theirs.type.text})"


def require_readable(connection: Connection[Any], condition: Part, table: Table, types: Mapping[str, str]) -> None:
    """Raise Unsupported ADP-148, with the server's message, unless the server takes the condition. No row is read.

    types: of the columns, as SQL; below a domain, whose checks would be asked of a NULL.
    """
    import psycopg

    empty = is_true(condition, lambda name: f"CAST(NULL AS {types[name]})")
    try:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(SPELLING_HERE.encode())
            cursor.execute(f"SELECT {empty}".encode())
    except psycopg.Error as error:
        if (trouble := passing(error)) is not None:
            raise trouble from None
        raise Unsupported(
            f"the condition {spelled(condition)} can't be read: {' '.join(str(error).split())}",
            code="ADP-148",
            table=table.name,
            hint="correct the condition in `restrict`",
        ) from None


def full(table: TableName) -> str:
    """Return the statement after which the source's log contains the whole old rows of a table."""
    return f"ALTER TABLE {qualified(table)} REPLICA IDENTITY FULL"


_COMPUTED = "from version 18 on that can't be while the table has a virtual generated column: take it out of `{}`"
_BY_ACTIVATION = "`ddlrepl activate` does it, too, unless the file says `replica_identity: leave`"


def whole_rows_hint(table: Table, section: str) -> str:
    """Return the hint how the log comes to contain whole old rows, which a section of the channel file needs."""
    is_computed = any(column.generated == "virtual" for column in table.columns)
    return f"at the source: {full(table.name)}; {_COMPUTED.format(section) if is_computed else _BY_ACTIVATION}"
