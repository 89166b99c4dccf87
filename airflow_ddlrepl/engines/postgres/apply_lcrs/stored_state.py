"""This module stores at a PostgreSQL target up to where an apply client is, and which changes tables have already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import FeedPosition
from airflow_ddlrepl.engines.postgres.target.apply_tables import INSTANTIATIONS, POSITIONS
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.visibility import stored_visibility
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation

_MOVE = """
INSERT INTO ddlrepl.apply_positions (channel, client, feed, epoch, lsn) VALUES (%s, %s, %s, %s, %s::pg_lsn)
ON CONFLICT (channel, client, feed) DO UPDATE SET epoch = excluded.epoch, lsn = excluded.lsn, updated = now()
"""
_INSTANTIATE = """
INSERT INTO ddlrepl.instantiations (channel, client, source_database, owner, name, scn, seen)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (channel, client, source_database, owner, name) DO UPDATE SET scn = excluded.scn, seen = excluded.seen
"""


def positions(connection: Any, channel: str, client: str) -> dict[str, FeedPosition]:
    """Return up to where a client has applied each feed, by the feed's name."""
    if not POSITIONS.is_there(connection):
        return {}
    query = "SELECT feed, epoch, lsn::text FROM ddlrepl.apply_positions WHERE channel = %s AND client = %s"
    rows = connection.execute(query, [channel, client]).fetchall()
    return {feed: FeedPosition(feed, int(epoch), Position.parse(lsn)) for feed, epoch, lsn in rows}


def move(cursor: Any, channel: str, client: str, to: FeedPosition) -> None:
    """Write up to where a client has applied a feed, in the open transaction."""
    cursor.execute(_MOVE, [channel, client, to.feed, to.epoch, str(to.position)])


def instantiations(connection: Any, channel: str, client: str) -> list[Instantiation]:
    """Return which changes tables have already."""
    if not INSTANTIATIONS.is_there(connection):
        return []
    query = (
        "SELECT source_database, owner, name, scn, seen FROM ddlrepl.instantiations WHERE channel = %s AND client = %s"
        " ORDER BY 1, 2, 3"
    )
    rows = connection.execute(query, [channel, client]).fetchall()
    return [
        Instantiation(database, owner, name, int(scn), seen=stored_visibility(seen) if seen else None)
        for database, owner, name, scn, seen in rows
    ]


def instantiate(cursor: Any, channel: str, client: str, found: Iterable[Instantiation]) -> None:
    """Write which changes tables have already, in the open transaction."""
    for one in found:
        seen = None if one.seen is None else str(one.seen)
        cursor.execute(_INSTANTIATE, [channel, client, one.source_database, one.owner, one.name, one.scn, seen])
