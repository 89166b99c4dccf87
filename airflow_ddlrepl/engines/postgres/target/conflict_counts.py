"""This module counts, at the target, how the conflicts of each table were decided, in the transaction that decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

TABLE = "conflicts"
CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.conflicts (
    channel text NOT NULL, table_id bigint NOT NULL, what text NOT NULL, changes bigint NOT NULL,
    last_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (channel, table_id, what));
"""
_ADD = """
INSERT INTO ddlrepl.conflicts AS c (channel, table_id, what, changes) VALUES (%s, %s, %s, %s)
ON CONFLICT (channel, table_id, what) DO UPDATE SET changes = c.changes + excluded.changes, last_at = now()
"""
_FORGET_GONE = """
DELETE FROM ddlrepl.conflicts c WHERE c.channel = %s AND NOT EXISTS (
    SELECT FROM ddlrepl.tables t WHERE t.channel = c.channel AND t.table_id = c.table_id AND t.state <> 'kept')
"""


def count_conflicts(cursor: Any, channel: str, table_id: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of a table, in the open transaction. counts: by conflict and what became of the change."""
    if not counts:
        return
    if not is_there(cursor.connection):
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('ddlrepl.prepare'))")
        cursor.execute(CREATE.encode())
    cursor.executemany(_ADD, [(channel, table_id, what, count) for what, count in sorted(counts.items())])


def conflict_counts(connection: Connection[Any], channel: str) -> dict[int, dict[str, int]]:
    """Return how many changes found another row than they were made to, by table and what became of them."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    if is_there(connection):
        query = "SELECT table_id, what, changes FROM ddlrepl.conflicts WHERE channel = %s ORDER BY 1, 2"
        for table_id, what, count in connection.execute(query, [channel]).fetchall():
            found[int(table_id)][what] = int(count)
    return dict(found)


def is_there(connection: Any) -> bool:
    """Does the target have the table? One that was prepared by an older version of this package has not."""
    row = connection.execute("SELECT to_regclass('ddlrepl.conflicts') IS NOT NULL").fetchone()
    return row is not None and bool(row[0])


def forget_gone(cursor: Any, channel: str) -> None:
    """Remove the counts of tables that the channel does not have here any more, in the open transaction."""
    if is_there(cursor.connection):
        cursor.execute(_FORGET_GONE, [channel])


def forget_all(connection: Any, channel: str) -> None:
    """Remove all counts of the channel."""
    if is_there(connection):
        connection.execute("DELETE FROM ddlrepl.conflicts WHERE channel = %s", [channel])
