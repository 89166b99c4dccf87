"""A change feed plans which files of the trail have a table's changes between two positions, and who reads which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import pyarrow as pa

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.change_feed.history import History, history
from airflow_ddlrepl.flow.change_feed.merged_columns import FeedColumn, feed_columns, feed_schema
from airflow_ddlrepl.flow.change_feed.options import NOW, OLDEST, FeedOptions
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.stop_position import position_of
from airflow_ddlrepl.model.change import EventKind, why_ignored
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.moment import parse_start, parse_until
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.trail.manifest import Blob, RowFile

PARTITION_BYTES = 128 << 20  # in memory; a piece reads a row group (16 MB) at each end that another piece reads, too
_COMPRESSED = 8  # about, for files of which the manifest does not say what they take in memory


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice is the part of a row file whose changes are of one revision.

    transactions: the file with those of its part of the segment.
    """

    file: RowFile
    low: LogKey
    high: LogKey
    revision: int
    transactions: Blob | None


@dataclass(frozen=True, slots=True)
class Truncate:
    """A truncate is a TRUNCATE of the feed's table. committed: microseconds since 1970, UTC."""

    key: LogKey
    transaction_id: int
    committed: int
    revision: int


@dataclass(frozen=True, slots=True)
class FeedPartition:
    """A feed partition is what one task reads of a feed. shapes: of the table, by revision. It holds no password."""

    trail: str
    channel: str
    scheme: str
    columns: tuple[FeedColumn, ...]
    schema: pa.Schema
    shapes: dict[int, Table]
    slices: tuple[Slice, ...] = ()
    truncates: tuple[Truncate, ...] = ()


class ChangeFeed:
    """A change feed is one channel opened to read a table's changes; nothing is written, and no server is asked."""

    def __init__(self, run: RunContext, options: FeedOptions) -> None:
        self.run = run
        self.options = options

    @cached_property
    def captured(self) -> Position:
        """Return the position before which everything is in the trail. Raises ConfigError CFG-130."""
        return self.run.captured()

    @cached_property
    def start(self) -> Position:
        """Return the position where the feed starts. Raises TrailError TRL-124 when the trail has no longer all."""
        found = parse_start(self.options.start, self.run.positions)
        retained = self._retained_from()
        if isinstance(found, str):
            return self.captured if found == NOW else retained
        at = position_of(self.run, found)
        if isinstance(found, Position):
            self.require_retained(found)
        elif at <= self._first_transaction() and self.run.repository.retained_from(self.run.channel.name):
            raise _not_retained(f"what committed after {found}", retained)
        return at

    @cached_property
    def end(self) -> Position:
        """Return the position where a batch ends: all transactions that are wanted start before it."""
        if not self.options.end:
            return self.captured
        return position_of(self.run, parse_until(self.options.end, self.run.positions))

    def require_retained(self, start: Position) -> None:
        """Raise TrailError TRL-124 where segments from this position on are gone."""
        retained = self._retained_from()
        if start < retained:
            raise _not_retained(f"what is at {start}", retained)

    def history(self, start: Position, end: Position) -> History:
        """Return the table's stretches and revisions between two positions."""
        return history(self.run, self.options, start, end)

    def columns(self, found: History) -> list[FeedColumn]:
        """Return the feed's columns. Raises TrailError TRL-122."""
        engine = source_engine(self.run.channel)
        return feed_columns(found.revisions, self.options, engine.types, engine.values)

    def schema(self, found: History) -> pa.Schema:
        """Return the feed's schema. Raises TrailError TRL-122."""
        return feed_schema(self.columns(found), self.options)

    def partitions(self, start: Position, end: Position, known: History) -> list[FeedPartition]:
        """Return what the tasks read between two positions: one partition without changes where there are none.

        known: the history that gives the columns, around them. Spark would ask a task to read None for no partition.
        """
        columns, found = self.columns(known), known.between(start, end)
        empty = FeedPartition(
            self.run.channel.trail,
            self.run.channel.name,
            self._scheme(),
            tuple(columns),
            feed_schema(columns, self.options),
            {s.revision.number: s.revision.table for s in found.stretches if s.revision.table is not None},
        )
        partitions, slices, size = [], list[Slice](), 0
        truncates: list[Truncate] = []
        for row in self._segments(start, end):
            truncates += self._truncates(row, found)
            for one in self._slices(row, found):
                pieces = _pieces(one)
                share = _memory(one.file) // len(pieces)
                for piece in pieces:
                    if slices and size + share > PARTITION_BYTES:
                        partitions.append(replace(empty, slices=tuple(slices)))
                        slices, size = [], 0
                    slices.append(piece)
                    size += share
        if slices or truncates or not partitions:
            partitions.append(replace(empty, slices=tuple(slices), truncates=tuple(truncates)))
        return partitions

    def _segments(self, start: Position, end: Position) -> list[SegmentRow]:
        return [r for r in self.run.repository.segments(self.run.channel.name, start, end) if r.state == "live"]

    def _slices(self, row: SegmentRow, found: History) -> Iterator[Slice]:
        for part in self.run.trail.segment(row.epoch, row.low).parts:
            for file in part.files:
                if file.table_id == found.table_id:
                    for s in found.stretches:
                        if file.first < s.high and file.last >= s.low:
                            yield Slice(file, s.low, s.high, s.revision.number, part.transactions)

    def _truncates(self, row: SegmentRow, found: History) -> list[Truncate]:
        if not row.events:
            return []
        events = self.run.trail.events(self.run.trail.segment(row.epoch, row.low))
        return [
            Truncate(event.key, event.transaction_id, event.committed, s.revision.number)
            for event in events
            if event.kind is EventKind.TRUNCATE and not why_ignored(event)
            if found.table_id in (i for i, _ in event.dropped)
            for s in found.stretches
            if s.low <= event.key < s.high
        ]

    def _retained_from(self) -> Position:
        """Return the first position from which on the trail has everything."""
        gone = self.run.repository.retained_from(self.run.channel.name)
        starts = self.run.repository.segment_starts(self.run.channel.name)
        return max(gone, Position(starts[0]) if starts else self.captured)

    def _first_transaction(self) -> int:
        for row in self.run.live_segments():
            found = self.run.transactions(row)
            if found.num_rows:
                return int(found["lsn"][0].as_py())
        return 0

    def _scheme(self) -> str:
        return resolve(self.run.channel.source.location).partition("://")[0]


@contextmanager
def open_feed(options: FeedOptions) -> Iterator[ChangeFeed]:
    """Open the change feed of a channel's file."""
    with RunContext(load_channel(options.channel), InProcess()) as run:
        yield ChangeFeed(run, options)


def _memory(file: RowFile) -> int:
    return file.memory or _COMPRESSED * file.size


def _pieces(one: Slice) -> list[Slice]:
    """Return a slice of a large file in pieces that several tasks read, cut between transactions."""
    low, high = max(one.low, one.file.first), min(one.high, LogKey(one.file.last.behind, 0))
    count = min(-(-_memory(one.file) // PARTITION_BYTES), high.lsn - low.lsn) if one.file.offset is None else 1
    if count <= 1:
        return [one]
    cuts = [low, *(LogKey(low.lsn + (high.lsn - low.lsn) * n // count, 0) for n in range(1, count)), high]
    return [replace(one, low=start, high=end) for start, end in pairwise(cuts) if start < end]


def _not_retained(what: str, retained: Position) -> TrailError:
    return TrailError(
        f"the trail does not have {what}: it begins at {retained}",
        code="TRL-124",
        at=retained,
        hint=f'start at {retained} or later, or at "{OLDEST}"; `rewind_horizon` and `hold_log` retain more',
    )
