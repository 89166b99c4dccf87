"""This module counts, at the target, how the conflicts of each table were decided, in the transaction that decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.target.channel_table import ChannelTable

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
STORED = ChannelTable(TABLE, CREATE, "what")


def count_conflicts(cursor: Any, channel: str, table_id: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of a table, in the open transaction. counts: by conflict and what became of the change."""
    if not counts:
        return
    STORED.ensure(cursor)
    cursor.executemany(_ADD, [(channel, table_id, what, count) for what, count in sorted(counts.items())])


def conflict_counts(connection: Connection[Any], channel: str) -> dict[int, dict[str, int]]:
    """Return how many changes found another row than they were made to, by table and what became of them."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    if STORED.is_there(connection):
        query = "SELECT table_id, what, changes FROM ddlrepl.conflicts WHERE channel = %s ORDER BY 1, 2"
        for table_id, what, count in connection.execute(query, [channel]).fetchall():
            found[int(table_id)][what] = int(count)
    return dict(found)
