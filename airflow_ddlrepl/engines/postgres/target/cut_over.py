"""This module stores at a PostgreSQL target that applications use it, so that no run of a channel writes there.

The table is made by the first cut-over.
"""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.target_state import CutOver
from airflow_ddlrepl.model.position import Position

TABLE = "cut_over"
_CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.cut_over (channel text PRIMARY KEY, lsn pg_lsn NOT NULL, since timestamptz NOT NULL)
"""
_PUT = """
INSERT INTO ddlrepl.cut_over (channel, lsn, since) VALUES (%s, %s::pg_lsn, %s)
ON CONFLICT (channel) DO UPDATE SET lsn = excluded.lsn, since = excluded.since
"""


def find(connection: Connection[Any], channel: str) -> CutOver | None:
    """Return the channel's cut-over; None when there is none."""
    if not _is_there(connection):
        return None
    row = connection.execute("SELECT lsn::text, since FROM ddlrepl.cut_over WHERE channel = %s", [channel]).fetchone()
    return CutOver(Position.parse(row[0]), row[1]) if row else None


def store(cursor: Any, channel: str, mark: CutOver | None) -> None:
    """Store the channel's cut-over in the open transaction, or remove it."""
    if mark is None:
        forget(cursor, channel)
        return
    cursor.execute(_CREATE)
    cursor.execute(_PUT, [channel, str(mark.position), mark.since])


def forget(connection: Any, channel: str) -> None:
    """Remove the channel's cut-over, if there is one."""
    if _is_there(connection):
        connection.execute("DELETE FROM ddlrepl.cut_over WHERE channel = %s", [channel])


def _is_there(connection: Any) -> bool:
    row = connection.execute("SELECT to_regclass('ddlrepl.cut_over') IS NOT NULL").fetchone()
    return bool(row[0])
