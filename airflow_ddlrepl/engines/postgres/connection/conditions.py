"""Row conditions as SQL, and whether a server would take one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.config.condition.expression import Part, Spelling
from airflow_ddlrepl.config.condition.parser import spelled
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING_HERE
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


def is_true(condition: Part, column: Callable[[str], str] = quote) -> str:
    """SQL that is true or false, never NULL. column: what a column of the source is here."""
    return f"({condition.sql(Spelling(column, literal))}) IS TRUE"


def where(condition: Part | None) -> str:
    """Return SQL that is true for the rows that a condition is true for; empty where there is none."""
    return is_true(condition) if condition is not None else ""


def unlike(condition: Part, here: Mapping[str, tuple[Column, Column]]) -> str:
    """SQL for the rows of a table of ours that the condition is not true for.

    here: the source's column and the one that holds its values, by the source's name.
    """

    def value(name: str) -> str:
        theirs, ours = here[name]
        if theirs.type.text == ours.type.text:
            return quote(ours.name)
        return f"CAST(CAST({quote(ours.name)} AS text) AS {theirs.type.text})"

    return f"({condition.sql(Spelling(value, literal))}) IS NOT TRUE"


def require_readable(connection: Connection[Any], condition: Part, table: Table, columns: Sequence[Column]) -> None:
    """Would a server take the condition? No row is looked at. Raises Unsupported ADP-148 with what it says."""
    import psycopg

    types = {column.name: column.type.text for column in columns}
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
    """The statement after which the log tells whole old rows."""
    return f"ALTER TABLE {qualified(table)} REPLICA IDENTITY FULL"


_COMPUTED = "from version 18 on that can't be while the table has a virtual generated column: take it out of `{}`"
_BY_ACTIVATION = "`ddlrepl activate` does it, too, unless the file says `replica_identity: leave`"


def whole_rows_hint(table: Table, section: str) -> str:
    """Say how the log comes to tell whole old rows, which a section of the channel file needs."""
    is_computed = any(column.generated == "virtual" for column in table.columns)
    return f"at the source: {full(table.name)}; {_COMPUTED.format(section) if is_computed else _BY_ACTIVATION}"
