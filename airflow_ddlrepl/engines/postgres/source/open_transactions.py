"""This module waits until no transaction is left that began before a table was published.

The rows that such a transaction writes are not in the log.
"""

from __future__ import annotations

import time
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.errors import SourceError

PAUSE_SECONDS = 0.1


def await_transactions(connection: Connection[Any], timeout: float = 60.0) -> None:
    """Wait until every transaction that is open now has ended. Locks nothing.

    A snapshot taken afterwards contains everything that the log does not. Raises SourceError SRC-120 after
    `timeout` seconds, naming who is in the way.
    """
    row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
    assert row is not None
    deadline = time.monotonic() + timeout
    while True:
        done = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [row[0]]).fetchone()
        if done is not None and done[0]:
            return
        if time.monotonic() > deadline:
            raise _in_the_way(connection)
        time.sleep(PAUSE_SECONDS)


def _in_the_way(connection: Connection[Any]) -> SourceError:
    rows = connection.execute(
        "SELECT format('process %s (user %s, since %s)', pid, usename, xact_start) FROM pg_stat_activity"
        " WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
        " UNION ALL SELECT format('prepared transaction %s', gid) FROM pg_prepared_xacts"
    ).fetchall()
    return SourceError(
        f"transactions that began before a table was published are still open: {'; '.join(r[0] for r in rows)}",
        code="SRC-120",
        hint="end them, or run again when they have ended: before that a refresh of the table could miss rows",
        retryable=True,
    )
