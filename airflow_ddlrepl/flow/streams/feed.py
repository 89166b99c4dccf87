"""This module defines the feeds that a queue consists of, and knows which of their manifests are the channel's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail


@dataclass(frozen=True, slots=True)
class CapturedManifests:
    """These are the manifests that the channel's capture has written."""

    repository: Repository
    channel: str

    def starts(self, trail: Trail, epoch: int) -> list[Position]:
        """Return where the segments begin that were captured and are retained."""
        return [Position(low) for low in self.repository.segment_starts(self.channel)]


@dataclass(frozen=True, slots=True)
class FeedManifests:
    """These are the manifests that a propagation or a synchronous capture has written. folder: the feed's trail."""

    repository: Repository
    channel: str
    folder: str

    def starts(self, trail: Trail, epoch: int) -> list[Position]:
        """Return where segments begin that are in the trail, or should be."""
        return sorted({*trail.starts(epoch), *self.repository.feed_starts(self.channel, self.folder, epoch)})

    def is_own(self, epoch: int, low: Position, digest: str) -> bool:
        """Return whether a manifest is the one that was written. Of feeds of an earlier version nobody knows yet."""
        if digest in self.repository.feed_digests(self.channel, self.folder, epoch, low):
            return True
        return not self.repository.is_feed_adopted(self.channel, self.folder, epoch)

    def publish(self, trail: Trail, segment: Segment, token: int, check_lock: Callable[[], object]) -> Segment:
        """Write a segment's manifest, whose digest is stored before; return the segment that counts."""
        place = (segment.epoch, segment.low)
        keep = partial(self.repository.begin_feed_segment, self.channel, token, self.folder, place)
        published = trail.publish(segment, check_lock, keep)
        self.repository.end_feed_segment(self.channel, token, self.folder, place, published.digest)
        return published

    def finish(self, trail: Trail, epoch: int, token: int) -> None:
        """Note the manifests that a killed run has written last, or an earlier version, which kept no digests."""
        if not self.repository.is_feed_adopted(self.channel, self.folder, epoch):
            known = {low: trail.segment(epoch, low).digest for low in trail.starts(epoch)}
            self.repository.adopt_feed(self.channel, token, self.folder, epoch, known)
        for low, digest in self.repository.unfinished_feed_segments(self.channel, self.folder, epoch):
            found = trail.find(epoch, low)
            if found is not None and found.digest == digest:
                self.repository.end_feed_segment(self.channel, token, self.folder, (epoch, low), digest)

    def forget(self, token: int, before: Position) -> None:
        """Forget the segments that begin before a position, because they are about to be removed."""
        self.repository.forget_feed_segments(self.channel, token, self.folder, before)


@dataclass(frozen=True)
class Feed:
    """A feed is what one client writes into a queue: a trail whose segments nobody else writes.

    name: of the client, behind those whose messages it passes on. epoch: of its segments. message_class: of its rows.
    """

    name: str
    queue: str
    trail: Trail
    epoch: int
    message_class: MessageClass
    manifests: CapturedManifests | FeedManifests

    def starts(self) -> list[Position]:
        """Return the positions where the segments begin, in order."""
        return self.manifests.starts(self.trail, self.epoch)

    def end(self) -> Position | None:
        """Return the position up to which the feed has everything; None: nothing is in it."""
        starts = self.starts()
        return self.trail.segment(self.epoch, starts[-1]).high if starts else None

    def segments(self, behind: Position | None = None) -> Iterator[Segment]:
        """Yield the segments that end behind a position, in order; None: all. No manifest before them is read."""
        starts = self.starts()
        first = max((number for number, low in enumerate(starts) if behind is not None and low <= behind), default=0)
        for low in starts[first:]:
            segment = self.trail.segment(self.epoch, low)
            if behind is None or segment.high > behind:
                yield segment


@dataclass(frozen=True)
class OwnFeed(Feed):
    """An own feed is one that a propagation or a synchronous capture writes, not the capture process."""

    manifests: FeedManifests

    def publish(self, segment: Segment, token: int, check_lock: Callable[[], object]) -> Segment:
        """Make a segment part of the feed, and return the one that counts: an earlier run may have written it."""
        return self.manifests.publish(self.trail, segment, token, check_lock)

    def finish(self, token: int) -> None:
        """Note what a killed run has written last."""
        self.manifests.finish(self.trail, self.epoch, token)

    def expire(self, before: Position, token: int) -> int:
        """Remove the segments that end at or before a position; return how many."""
        self.manifests.forget(token, before)
        return self.trail.expire(before)
