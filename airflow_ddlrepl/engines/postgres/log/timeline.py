"""This module finds which log a server writes: by the run of the server, and the timeline that it is on."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions
from airflow_ddlrepl.errors import SourceError

# The checkpoint's timeline (pg_control_checkpoint) is that of before a promotion for a while: not good enough.
TIMELINE = """
CASE WHEN pg_catalog.pg_is_in_recovery() THEN 0
ELSE ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::int END
"""
_SERVER_SQL = f"SELECT {TIMELINE}, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"


def server(connection: Connection[Any]) -> str:
    """Return a text that changes with a restart, a fail-over or a recovery; while it is the same, so is the log.

    Raises SourceError SRC-113 for a standby.
    """
    row = connection.execute(_SERVER_SQL.encode()).fetchone()
    assert row is not None
    if not row[0]:
        preconditions.require_server(over(connection))
    return f"{row[0]}/{row[1]}"


def require_timeline(connection: Connection[Any], timeline: int) -> None:
    """Raise SourceError SRC-117 unless the server that the run began with answers, on the same timeline.

    It is another server's answer, or this one's after a recovery.
    """
    row = connection.execute(f"SELECT {TIMELINE}".encode()).fetchone()
    assert row is not None
    if row[0] != timeline:
        raise changed(timeline, int(row[0]))


def changed(before: int, now: int) -> SourceError:
    """Return SourceError SRC-117: another server answers than when the run began.

    before, now: timelines; 0: a standby.
    """
    return SourceError(
        "the location now leads to another server than when the run began: its log is on"
        f" {f'timeline {now}' if now else 'no timeline of its own, for it is a standby'}, and was on timeline {before}",
        code="SRC-117",
        hint="run again: a run first checks whether a fail-over has lost any log",
        retryable=True,
    )
