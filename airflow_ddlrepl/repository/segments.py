"""This part of the repository returns the captured segments and the schema changes in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, func, select, update

from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.repository.base import Base, upsert
from airflow_ddlrepl.repository.stored.rows import EventRow, SegmentRow
from airflow_ddlrepl.repository.stored.tables import channels, events, feed_segments, loads, segments

_DIGEST = select(segments.c.digest).where(
    segments.c.channel == bindparam("channel"),
    segments.c.epoch == bindparam("epoch"),
    segments.c.low == bindparam("low"),
)
_FEEDS = feed_segments.c
_ADOPTED = Position(-1)  # a row of this position says that the feed's other rows are all of its manifests


class Segments(Base):
    """This part of the repository returns segments and schema changes; `Revisions.commit_segment` stores them."""

    def segments(self, channel: str, low: Position | None = None, high: Position | None = None) -> list[SegmentRow]:
        """Return the newest epoch's segments in log order.

        Between two positions: those that hold something at or after `low` and begin before `high`.
        """
        return self._segments(_within(select(segments), channel, low, high))

    def segments_with_events(self, channel: str, low: Position, high: Position | None = None) -> list[SegmentRow]:
        """Return the newest epoch's segments that have schema changes, truncates or gaps of the channel's tables.

        Between two positions: those that hold something at or after `low` and begin before `high`.
        """
        return self._segments(_within(select(segments), channel, low, high).where(segments.c.events > 0))

    def _segments(self, query: Select[Any]) -> list[SegmentRow]:
        with self._database.read() as connection:
            return [_segment(row) for row in connection.execute(query.order_by(segments.c.low))]

    def segment_starts(self, channel: str) -> list[int]:
        """Return the positions where the segments begin that the trail still has, in log order."""
        query = _within(select(segments.c.low), channel).where(segments.c.state == "live")
        with self._database.read() as connection:
            return list(connection.scalars(query.order_by(segments.c.low)))

    def first_segment_since(self, channel: str, moment: datetime | None, position: Position) -> Position | None:
        """Return where the first segment begins that was captured at the moment or later, not before the position."""
        query = _within(select(func.min(segments.c.low)), channel)
        query = query.where(segments.c.state == "live", segments.c.low >= int(position))
        if moment is not None:
            query = query.where(segments.c.created >= moment)
        with self._database.read() as connection:
            low = connection.execute(query).scalar()
            return None if low is None else Position(low)

    def is_captured(self, channel: str, epoch: int, low: Position, digest: str) -> bool:
        """Return whether a manifest with this digest is the segment's; True, too, where no digest of it is stored."""
        key = {"channel": channel, "epoch": epoch, "low": int(low)}
        with self._database.read() as connection:
            return connection.execute(_DIGEST, key).scalar() in (None, digest)

    def set_segment_digest(self, channel: str, token: int, epoch: int, low: Position, digest: str) -> None:
        """Store the digest of a manifest that was written again."""
        where = (segments.c.channel == channel) & (segments.c.epoch == epoch) & (segments.c.low == int(low))
        with self._fenced(channel, token) as connection:
            connection.execute(update(segments).where(where).values(digest=digest))

    def add_load(self, channel: str, token: int, epoch: int, name: str, digest: str) -> None:
        """Store the digest of the manifest of a load that is archived in the trail."""
        with self._fenced(channel, token) as connection:
            upsert(connection, loads, {"channel": channel, "epoch": epoch, "name": name}, {"digest": digest})

    def load_digests(self, channel: str) -> dict[tuple[int, str], str]:
        """Return the digests of the manifests of all loads in the trail, by epoch and name."""
        with self._database.read() as connection:
            rows = connection.execute(select(loads).where(loads.c.channel == channel))
            return {(row.epoch, row.name): row.digest for row in rows}

    def forget_loads(self, channel: str, token: int, gone: Iterable[tuple[int, str]]) -> None:
        """Delete what is stored of loads that the trail has no more, by epoch and name."""
        with self._fenced(channel, token) as connection:
            for epoch, name in gone:
                where = (loads.c.channel == channel) & (loads.c.epoch == epoch) & (loads.c.name == name)
                connection.execute(delete(loads).where(where))

    def segment_extent(self, channel: str, low: Position, high: Position) -> tuple[int, int]:
        """Return the number of segments between two positions, and their bytes."""
        query = _within(select(func.count(), func.coalesce(func.sum(segments.c.bytes), 0)), channel, low, high)
        with self._database.read() as connection:
            count, size = connection.execute(query).one()
            return count, int(size)

    def retained_from(self, channel: str) -> Position:
        """Return the position from which on the trail still has everything that was captured."""
        query = _within(select(func.max(segments.c.high)), channel).where(segments.c.state != "live")
        with self._database.read() as connection:
            return Position(connection.execute(query).scalar() or 0)

    def expire_segments(self, channel: str, token: int, before: Position) -> int:
        """Mark the segments that end at or before the position as expired, and return how many."""
        where = (segments.c.channel == channel) & (segments.c.high <= int(before)) & (segments.c.state == "live")
        with self._fenced(channel, token) as connection:
            return connection.execute(update(segments).where(where).values(state="expired")).rowcount

    def events(self, channel: str, low: Position | None = None) -> list[EventRow]:
        """Return schema changes, truncates and gaps in log order, from a position on."""
        query = select(events).where(events.c.channel == channel)
        if low is not None:
            query = query.where(events.c.lsn >= int(low))
        with self._database.read() as connection:
            return [_event(row) for row in connection.execute(query.order_by(events.c.lsn, events.c.seq))]

    def newest_events(self, channel: str, most: int) -> list[EventRow]:
        """Return the newest schema changes, truncates and gaps, the newest first."""
        query = select(events).where(events.c.channel == channel)
        query = query.order_by(events.c.epoch.desc(), events.c.lsn.desc(), events.c.seq.desc()).limit(most)
        with self._database.read() as connection:
            return [_event(row) for row in connection.execute(query)]

    def has_uncaptured_truncate(self, channel: str, segment: SegmentRow) -> bool:
        """Return whether a TRUNCATE in the segment was not captured, because the channel file excluded it then."""
        here = (events.c.channel == channel, events.c.epoch == segment.epoch)
        within = (events.c.lsn >= int(segment.low), events.c.lsn < int(segment.high))
        query = select(events.c.lsn).where(*here, *within, events.c.kind == str(EventKind.NO_TRUNCATE))
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def ignored_sessions(self, channel: str, segment: SegmentRow) -> list[str]:
        """Return by which settings sessions were ignored when the segment was captured."""
        here = (events.c.channel == channel, events.c.epoch == segment.epoch)
        within = (events.c.lsn >= int(segment.low), events.c.lsn < int(segment.high))
        query = select(events.c.tag).distinct().where(*here, *within, events.c.kind == str(EventKind.IGNORED))
        with self._database.read() as connection:
            return list(connection.scalars(query.order_by(events.c.tag)))


def _within(query: Select[Any], channel: str, low: Position | None = None, high: Position | None = None) -> Select[Any]:
    """Narrow a query to the newest epoch's segments, and to those between two positions."""
    newest = (channels.c.name == segments.c.channel) & (channels.c.epoch == segments.c.epoch)
    query = query.select_from(segments.join(channels, newest)).where(segments.c.channel == channel)
    if low is not None:
        query = query.where(segments.c.high > int(low))
    return query if high is None else query.where(segments.c.low < int(high))


def _segment(row: Any) -> SegmentRow:
    sizes = (row.rows, row.bytes, row.files, row.events)
    made = (row.token, row.state, row.created, row.digest)
    return SegmentRow(row.epoch, Position(row.low), Position(row.high), *sizes, *made)


def _event(row: Any) -> EventRow:
    return EventRow(LogKey(row.lsn, row.seq), row.kind, row.tag, row.statement, tuple(row.table_ids), row.committed)


class FeedSegments(Base):
    """This part of the repository stores the digest of each manifest before it is written, and that it was written."""

    def begin_feed_segment(self, channel: str, token: int, feed: str, place: tuple[int, Position], digest: str) -> None:
        """Store that the manifest of a segment is about to be written. place: its epoch and where it begins."""
        with self._fenced(channel, token) as connection:
            upsert(connection, feed_segments, _key(channel, feed, place, digest), {"is_published": False})

    def end_feed_segment(self, channel: str, token: int, feed: str, place: tuple[int, Position], digest: str) -> None:
        """Store which manifest of a segment was written; others that were to be are forgotten."""
        with self._fenced(channel, token) as connection:
            here = _of(channel, feed, place[0]) & (_FEEDS.low == int(place[1]))
            connection.execute(delete(feed_segments).where(here & (_FEEDS.digest != digest)))
            upsert(connection, feed_segments, _key(channel, feed, place, digest), {"is_published": True})

    def feed_digests(self, channel: str, feed: str, epoch: int, low: Position) -> set[str]:
        """Return the digests that the manifest of a segment may have."""
        query = select(_FEEDS.digest).where(_of(channel, feed, epoch) & (_FEEDS.low == int(low)))
        with self._database.read() as connection:
            return set(connection.scalars(query))

    def adopt_feed(self, channel: str, token: int, feed: str, epoch: int, found: Mapping[Position, str]) -> None:
        """Store the digests of manifests that an earlier version has written; from now on the feed has no others."""
        with self._fenced(channel, token) as connection:
            for low, digest in found.items():
                upsert(connection, feed_segments, _key(channel, feed, (epoch, low), digest), {"is_published": True})
            upsert(connection, feed_segments, _key(channel, feed, (epoch, _ADOPTED), ""), {"is_published": False})

    def is_feed_adopted(self, channel: str, feed: str, epoch: int) -> bool:
        """Return whether the digests of all manifests of a feed are stored."""
        return bool(self.feed_digests(channel, feed, epoch, _ADOPTED))

    def feed_starts(self, channel: str, feed: str, epoch: int) -> list[Position]:
        """Return where the segments of a feed begin whose manifests were written."""
        query = select(_FEEDS.low).where(_of(channel, feed, epoch) & _FEEDS.is_published)
        with self._database.read() as connection:
            return [Position(low) for low in connection.scalars(query.order_by(_FEEDS.low))]

    def unfinished_feed_segments(self, channel: str, feed: str, epoch: int) -> list[tuple[Position, str]]:
        """Return the manifests that were about to be written when a run ended, with their digests."""
        here = _of(channel, feed, epoch) & ~_FEEDS.is_published & (_FEEDS.low >= 0)
        query = select(_FEEDS.low, _FEEDS.digest).where(here)
        with self._database.read() as connection:
            return [(Position(low), digest) for low, digest in connection.execute(query)]

    def forget_feed_segments(self, channel: str, token: int, feed: str, before: Position) -> None:
        """Delete what is stored of segments that begin before a position: they are about to be removed."""
        here = (_FEEDS.channel == channel) & (_FEEDS.feed == feed) & (_FEEDS.low < int(before)) & (_FEEDS.low >= 0)
        with self._fenced(channel, token) as connection:
            connection.execute(delete(feed_segments).where(here))


def _of(channel: str, feed: str, epoch: int) -> ColumnElement[bool]:
    return (_FEEDS.channel == channel) & (_FEEDS.feed == feed) & (_FEEDS.epoch == epoch)


def _key(channel: str, feed: str, place: tuple[int, Position], digest: str) -> dict[str, object]:
    return {"channel": channel, "feed": feed, "epoch": place[0], "low": int(place[1]), "digest": digest}
