"""This module defines the feeds that a queue consists of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail


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

    def starts(self) -> list[Position]:
        """Return the positions where the segments begin, in order."""
        return self.trail.starts(self.epoch)

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
