"""This module applies row changes one by one: each has to change exactly one row, and its error names its message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from airflow_ddlrepl.engines.postgres.apply_lcrs.pipelines import pipelined
from airflow_ddlrepl.engines.postgres.apply_lcrs.statements import Statement
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.messages import RowLcr


class Change(NamedTuple):
    """A change is a row LCR with its statement. number: of its message."""

    lcr: RowLcr
    statement: Statement
    number: int | None


class _AnotherCount(Exception):
    """A statement of several that were sent together has not changed exactly one row."""


def apply_in_pipeline(connection: Connection[Any], changes: Sequence[Change]) -> bool:
    """Send changes without waiting for each; return whether all are done. Else nothing of them is."""
    import psycopg

    try:
        with connection.transaction():
            with pipelined(connection):
                found = [
                    connection.execute(one.statement.text.encode(), one.statement.parameters, prepare=True)
                    for one in changes
                ]
            if any(cursor.rowcount != 1 for cursor in found):
                raise _AnotherCount
    except _AnotherCount:
        return False
    except psycopg.Error as error:
        if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
            raise
        return False
    return True


def apply_one(connection: Connection[Any], change: Change) -> None:
    """Apply a change. Raises ApplyError APL-101, APL-102 or APL-103, or the driver's error about a lock."""
    import psycopg

    lcr, (text, parameters), number = change
    name = TableName(lcr.owner or "", lcr.name or "")
    try:
        count = connection.execute(text.encode(), parameters, prepare=True).rowcount
    except psycopg.Error as error:
        refuse(error, f"the {lcr.command}", name, number)
    if count == 1:
        return
    with numbered(number):
        raise _not_one(lcr, name, count)


class numbered:
    """Inside this `with` an ApplyError gets the number of the message that it is about."""

    def __init__(self, number: int | None) -> None:
        self.number = number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if isinstance(error, ApplyError):
            error.about_message(self.number)


def _not_one(lcr: RowLcr, name: TableName, count: int) -> ApplyError:
    if count == 0:
        return ApplyError(
            f"no data found: the target has no row for the {lcr.command}",
            code="APL-101",
            table=name,
            hint="`ddlrepl errors show` shows the LCR and the target's row; write the row there, then retry, or delete"
            " the error",
        )
    return ApplyError(
        f"too many rows: {count} rows of the target are meant by one {lcr.command}",
        code="APL-102",
        table=name,
        hint="the target's table needs a primary key; remove the rows that are too many, then retry",
    )


def refuse(error: Any, what: str, table: object, number: int | None) -> NoReturn:
    """Raise a driver's error as one about a message; what is the server's trouble passes as it is."""
    if error.sqlstate in CONTENTION:
        raise error
    if (trouble := passing(error, "the target")) is not None:
        raise trouble from error
    detail = f" ({error.diag.message_detail})" if error.diag.message_detail else ""
    raise ApplyError(
        f"the target refuses {what}: {error.diag.message_primary or str(error)}{detail}",
        number=number,
        sqlstate=error.sqlstate or "",
        code="APL-103",
        table=table,
        hint="mend it at the target, then retry: `ddlrepl errors retry`",
    ) from None
