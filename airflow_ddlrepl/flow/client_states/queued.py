"""This module counts what waits in a feed behind a position: how many messages, and since when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow.compute as pc

from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.model.change import EventKind, why_ignored
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.queue.ruled_writer import CARRIED
from airflow_ddlrepl.trail.manifest import Segment

MOST_SEGMENTS = 50
"""So many pieces of a feed are counted; where more wait, there are more messages than that."""


@dataclass(frozen=True, slots=True)
class Queued:
    """Messages wait in a queue. is_more: there are more than were counted. oldest: when the oldest one committed."""

    messages: int = 0
    is_more: bool = False
    oldest: datetime | None = None


def queued(feed: Feed, read: LogKey, *, is_messaging: bool = False) -> Queued:
    """Return what waits in a feed behind the place up to which a client has read it.

    Rows of a file that was read to its middle count all. is_messaging: only what a messaging client can take counts.
    Raises TrailError.
    """
    has_rows = not is_messaging or feed.message_class is MessageClass.PERSISTENT
    kinds = (EventKind.MESSAGE,) if is_messaging else CARRIED
    messages, oldest = 0, None
    for number, segment in enumerate(feed.segments(Position(read.lsn))):
        if number == MOST_SEGMENTS:
            return Queued(messages, True, oldest)
        found = sum(file.rows for file in segment.files() if file.last > read) if has_rows else 0
        if any(part.event_count for part in segment.parts):
            events = feed.trail.events(segment)
            found += sum(one.kind in kinds and one.key > read and not why_ignored(one) for one in events)
        if found and oldest is None:
            oldest = next(_commits(feed, segment, read.lsn), None)
        messages += found
    return Queued(messages, False, oldest)


def commits_behind(feed: Feed, at: Position | None) -> Iterator[datetime]:
    """Yield when transactions of a feed committed that a client has yet to read, of each segment the oldest."""
    for segment in feed.segments(at):
        yield from _commits(feed, segment, None if at is None else at - 1)


def _commits(feed: Feed, segment: Segment, after: int | None) -> Iterator[datetime]:
    transactions = feed.trail.transactions(segment)
    if after is not None:
        transactions = transactions.filter(pc.greater(transactions["lsn"], after))
    if transactions.num_rows:
        yield datetime.fromtimestamp(pc.min(transactions["committed"]).as_py() / 1_000_000, UTC)
