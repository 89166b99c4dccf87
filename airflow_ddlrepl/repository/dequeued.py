"""This part of the repository stores up to where messaging clients have taken the messages of their queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.repository.base import upsert
from airflow_ddlrepl.repository.lock import ChannelLock, Locks
from airflow_ddlrepl.repository.stored.tables import channels, dequeued


@dataclass(frozen=True, slots=True, order=True)
class FeedPosition:
    """A feed position is the last place in one feed that a client has taken. A new epoch begins before all places."""

    epoch: int
    key: LogKey


class Dequeued(Locks):
    """This part of the repository stores how far messaging clients are in the feeds of their queues.

    Each client has a lock of its own, so that dequeuing and the channel's cycles do not wait for each other.
    """

    def client_lock(self, channel: str, client: str, holder: str, wait_seconds: float = 0) -> ChannelLock:
        """Take a messaging client; raise LockHeld LCK-101 when another process dequeues with it for so long."""
        return self.lock(_lock_name(channel, client), holder, wait_seconds=wait_seconds)

    def dequeued(self, channel: str, client: str) -> dict[str, FeedPosition]:
        """Return the client's position in each feed that it has taken something of, by the feed's name."""
        with self._database.read() as connection:
            return _positions(connection, channel, client)

    def set_dequeued(self, channel: str, client: str, token: int, moved: Mapping[str, FeedPosition]) -> None:
        """Move the client's positions forward. token: of the client's lock.

        Raises Fenced LCK-102 when another process has taken the client over, RepositoryError REP-102 for a position
        that would go back, and REP-108 for a channel that is not there any more; nothing is written then.
        """
        with self._fenced(_lock_name(channel, client), token) as connection:
            if connection.execute(select(channels.c.name).where(channels.c.name == channel)).first() is None:
                raise RepositoryError(
                    f"channel {channel} was removed while client {client} dequeued",
                    code="REP-108",
                    hint="the messages of its queues are gone with it: `ddlrepl activate` begins again",
                )
            before, now = _positions(connection, channel, client), self._database.now(connection)
            for feed, position in moved.items():
                if feed in before and position < before[feed]:
                    raise RepositoryError(
                        f"client {client} of channel {channel} would go back in feed {feed}",
                        code="REP-102",
                        at=position.key,
                        hint="nothing was written; dequeue again: it starts from the stored position",
                    )
                key = {"channel": channel, "client": client, "feed": feed}
                values = {"epoch": position.epoch, "lsn": position.key.lsn, "seq": position.key.seq, "updated": now}
                upsert(connection, dequeued, key, values)


def _positions(connection: Connection, channel: str, client: str) -> dict[str, FeedPosition]:
    query = select(dequeued).where(dequeued.c.channel == channel, dequeued.c.client == client)
    return {row.feed: FeedPosition(row.epoch, LogKey(row.lsn, row.seq)) for row in connection.execute(query)}


def _lock_name(channel: str, client: str) -> str:
    """Return the name of a client's row among the locks; no channel can have it."""
    return f"{channel}/{client}"
