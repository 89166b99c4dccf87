"""This module says why the target's server refused rows, and what helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.read_errors import MISSING_HERE, NOT_A_VALUE, is_unreadable
from airflow_ddlrepl.engines.postgres.merge.constraints import GRANT
from airflow_ddlrepl.errors import DdlReplError, ForeignKeyBroken, KeyTaken, RowsRefused, UnreadableRows
from airflow_ddlrepl.model.names import TableName

UNIQUE, EXCLUSION, FOREIGN_KEY = "23505", "23P01", "23503"
NO_RIGHT, CHECK, BY_TRIGGER, NO_IDENTITY = "42501", "23514", "P0001", "55000"
REPAIR = "compare and repair: ddlrepl compare --repair; or load the table again: ddlrepl refresh --table"


@contextmanager
def telling_refusals(name: TableName | None, cursor: Any) -> Iterator[None]:
    """Raise an error that says where and what to do, for what the target refuses inside the `with`."""
    try:
        yield
    except cursor.connection.Error as error:
        raise refused(name, error) from error


def refused(name: TableName | None, error: Any) -> DdlReplError:
    """Return the error that says which rows the target refuses, and what to do. name: None: as the server names it."""
    if (trouble := passing(error, "the target")) is not None:
        return trouble.about(table=name)
    name = name or _named(error)
    detail = " ".join(str(error).split())
    state = getattr(error, "sqlstate", None) or ""
    if state in (UNIQUE, EXCLUSION):
        return KeyTaken(f"rows are in the target already: {detail}", code="INT-102", table=name, hint=REPAIR)
    if state == FOREIGN_KEY:
        return ForeignKeyBroken(
            f"a foreign key of the target does not allow the change: {detail}",
            code="INT-104",
            table=name,
            hint=f"replicate both tables, or let ddlrepl skip the target's foreign keys while it writes: {GRANT}",
        )
    return (UnreadableRows if is_unreadable(error) else RowsRefused)(
        f"the target refuses rows: {detail}",
        code="INT-105",
        table=name,
        hint=MISSING_HERE if is_unreadable(error) and state != NOT_A_VALUE else _remedy(state),
        retryable=state.startswith(("08", "40", "53", "55", "57")),
    )


def _named(error: Any) -> TableName | None:
    """Return the table that the server names beside its message, if it does."""
    diagnosis = getattr(error, "diag", None)
    if diagnosis is None or not diagnosis.table_name:
        return None
    return TableName(diagnosis.schema_name or "", diagnosis.table_name)


def _remedy(state: str) -> str:
    """Return the hint what helps where the target refuses rows."""
    if state == NO_RIGHT:
        return "give the role of the target's location its rights on the table again"
    if state in (CHECK, BY_TRIGGER):
        return "drop the constraint or trigger that was added at the target, and run again"
    if state == NO_IDENTITY:
        return "a publication there needs old rows: ALTER TABLE … REPLICA IDENTITY FULL at the target, and run again"
    return (
        "was the target's table changed by hand? ddlrepl compare CHANNEL.yaml --repair restores its columns and rows;"
        " where a column has another type: ddlrepl refresh CHANNEL.yaml --table schema.table"
    )
