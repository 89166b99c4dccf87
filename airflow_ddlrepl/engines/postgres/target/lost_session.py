"""A table whose rows end the session that writes them is found, so that it stops alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.errors import SessionEnded, Unreachable

Result = TypeVar("Result")
RESTART = 20
"""A server has this many seconds to come back; a crash is over by then, in most cases."""


def surviving(work: Callable[[], Result], dsn: str) -> Result:
    """Run a transaction, once more in a new session where its session ended while it was at one table.

    work: opens its own session. Raises SessionEnded INT-131 about that table when its second session ends there, too,
    and the server answers others; else what `work` raises.
    """
    try:
        return work()
    except Unreachable as error:
        if error.table is None or not _answers(dsn):
            raise
        table = error.table
    try:
        return work()
    except Unreachable as error:
        if error.table != table or not _answers(dsn):
            raise
        raise SessionEnded(
            f"the session that writes the table ends, twice in a row, while the server answers others: {error.message}",
            code="INT-131",
            table=table,
            hint="look into the target's log: a trigger or a value ends or crashes the session",
        ).about(table_id=error.table_id) from error


def _answers(dsn: str) -> bool:
    for _ in range(RESTART):
        try:
            with session(dsn, limit=2) as connection:
                connection.execute("SELECT 1")
            return True
        except Unreachable:
            time.sleep(1)
    return False
