"""A row group is what some transactions of a feed that follow each other have changed, table by table.

Groups are cut between transactions: who applies one in a transaction shows its readers a state that the source had.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import END, START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.reader import events_of
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.trail.manifest import RowFile, Segment
from airflow_ddlrepl.trail.store import Trail

MOST_ROWS, MOST_BYTES = 20_000, 16 << 20
"""So many rows, with so many bytes, are a group; a transaction that has more of them is one by itself."""
FEW_ROWS = 200
"""Fewer rows than these are not worth a group of their own between others that are applied one by one."""
TIMES_READ = 2
"""A transaction that has so many times the rows of a group is read message by message: nobody holds all of it."""
Ints = np.ndarray[Any, np.dtype[np.int64]]
IsAlone = Callable[[Layout], bool]


@dataclass(frozen=True)
class RowGroup:
    """A row group has the rows and control records of the transactions that commit from `low` on, before `high`.

    batches: of one layout each, in log order. events: control records. is_large: it is one transaction whose rows are
    to be read from the segment again: there are none here.
    """

    low: Position
    high: Position
    batches: tuple[LcrBatch, ...] = ()
    events: tuple[Event, ...] = ()
    is_large: bool = False

    @property
    def before(self) -> LogKey:
        """Return the place in front of everything in the group."""
        return LogKey(self.low, START_OF_TRANSACTION).previous

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return sum(map(len, self.batches))

    def commits(self) -> Ints:
        """Return where the transactions commit that have rows or control records here, in order."""
        found = [_lsn(one.rows) for one in self.batches]
        found.append(np.array([event.key.lsn for event in self.events], np.int64))
        return np.unique(np.concatenate(found))

    def between(self, low: int, high: int) -> RowGroup:
        """Return the part of the group whose transactions commit from `low` on, before `high`."""
        batches = []
        for one in self.batches:
            start, end = np.searchsorted(_lsn(one.rows), (low, high))
            if start < end:
                batches.append(LcrBatch(one.layout, one.rows.slice(start, end - start)))
        events = tuple(event for event in self.events if low <= event.key.lsn < high)
        return RowGroup(Position(low), Position(high), tuple(batches), events)

    def parts(self, most: int) -> list[RowGroup]:
        """Return the group in at most so many parts that follow each other, with about as many transactions each."""
        commits = self.commits()
        places = sorted({len(commits) * part // most for part in range(1, most)} - {0})
        cuts = [int(self.low), *(int(commits[place]) for place in places), int(self.high)]
        return [self.between(low, high) for low, high in pairwise(cuts)]

    def runs(self, is_alone: IsAlone) -> Iterator[tuple[bool, RowGroup]]:
        """Yield the group in parts, each with whether its transactions can be applied together.

        is_alone: whether the changes of a table can be applied one by one alone. Control records always are.
        """
        alone = [_lsn(one.rows) for one in self.batches if is_alone(one.layout)]
        alone.append(np.array([event.key.lsn for event in self.events], np.int64))
        by_itself = np.unique(np.concatenate(alone))
        if not len(by_itself):
            yield True, self
            return
        commits = self.commits()
        flags = np.isin(commits, by_itself)
        cuts = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1), len(commits)]
        low, waiting = int(self.low), False
        for start, end in pairwise(cuts):
            high = int(commits[end]) if end < len(commits) else int(self.high)
            part = self.between(int(commits[start]), high)
            if flags[start] or part.rows < FEW_ROWS:
                waiting = True
                continue
            if waiting:
                yield False, self.between(low, int(commits[start]))
            yield True, self.between(int(commits[start]), high)
            low, waiting = high, False
        if waiting:
            yield False, self.between(low, int(self.high))


@dataclass(eq=False)
class _Source:
    """This value is a file of rows of one layout; what is read of it and not yet in a group is in memory."""

    trail: Trail
    file: RowFile
    low: LogKey
    layout: Layout
    read_to: int
    rows: pa.Table | None = None
    lsn: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _pieces: Iterator[pa.Table] | None = None

    @classmethod
    def of(cls, trail: Trail, file: RowFile, low: LogKey) -> _Source:
        layout = Layout(file.table_id, file.schema, file.name, file.identity, file.columns, file.shape)
        return cls(trail, file, low, layout, max(file.first.lsn, low.lsn))

    def read(self) -> tuple[int, int]:
        """Read on, and return how many rows and bytes that are.

        All rows of transactions that commit before `read_to` are in memory then.
        """
        if self._pieces is None:
            self._pieces = self.trail.batches(self.file, self.low, END)
        piece = next(self._pieces, None)
        if piece is None:
            self.read_to = END.lsn
            return 0, 0
        self.rows = piece if self.rows is None or not self.rows.num_rows else pa.concat_tables([self.rows, piece])
        self.lsn = _lsn(self.rows)
        self.read_to = int(self.lsn[-1])
        return piece.num_rows, piece.nbytes

    def before(self, high: int) -> int:
        """Return how many rows in memory are of transactions that commit before a position."""
        return int(np.searchsorted(self.lsn, high)) if len(self.lsn) else 0

    def take(self, high: int) -> LcrBatch | None:
        """Return those rows, which are no longer here then; None: there are none."""
        count = self.before(high)
        if not count or self.rows is None:
            return None
        taken, self.rows, self.lsn = self.rows.slice(0, count), self.rows.slice(count), self.lsn[count:]
        return LcrBatch(self.layout, taken)


class RowGroups:
    """These are the groups of a segment, in commit order, from a position on; each is as large as `most` says then."""

    def __init__(self, trail: Trail, segment: Segment, low: Position, facts: TransactionFacts) -> None:
        self.most = MOST_ROWS
        self._low, self._high = low, segment.high
        self._facts = facts
        self._trail = trail
        self._segment = segment
        self._events: Sequence[Event] = events_of(trail, segment, LogKey(low, START_OF_TRANSACTION))
        self._open(LogKey(low, START_OF_TRANSACTION))

    def _open(self, low: LogKey) -> None:
        files = [file for file in self._segment.files() if file.last >= low]
        self._sources = [_Source.of(self._trail, file, low) for file in files]
        self._unread = [(one.read_to, number) for number, one in enumerate(self._sources)]
        heapq.heapify(self._unread)
        self._held = self._bytes = 0

    def __iter__(self) -> Iterator[RowGroup]:
        low = self._low
        while low < self._high:
            high, is_large = self._next(low)
            events = tuple(one for one in self._events if low <= one.key.lsn < high)
            if is_large:
                yield RowGroup(low, high, (), events, is_large=True)
                self._open(LogKey(high, START_OF_TRANSACTION))
            else:
                yield RowGroup(low, high, self._taken(high), events)
            low = high

    def _taken(self, high: int) -> tuple[LcrBatch, ...]:
        taken = tuple(found for one in self._sources if (found := one.take(high)) is not None)
        held = self._held
        self._held -= sum(map(len, taken))
        self._bytes = self._bytes * self._held // held if held else 0
        return taken

    def _next(self, low: Position) -> tuple[Position, bool]:
        """Return up to where the next group goes, and whether it is a transaction that is not in memory as a whole."""
        while self._unread:
            read_to, number = self._unread[0]
            most = self._most()
            if self._held >= most:
                ready = self._count(read_to)
                if ready >= most or (ready and self._held >= TIMES_READ * most):
                    return self._cut(low, read_to, most), False
                if self._count(Position(read_to).next) >= TIMES_READ * most:
                    return Position(read_to).next, True
            heapq.heappop(self._unread)
            source = self._sources[number]
            rows, size = source.read()
            self._held += rows
            self._bytes += size
            if source.read_to != END.lsn:
                heapq.heappush(self._unread, (source.read_to, number))
        return self._cut(low, int(self._high), self._most()), False

    def _count(self, high: int) -> int:
        return sum(one.before(high) for one in self._sources)

    def _most(self) -> int:
        """Return how many rows a group may have, so that its bytes are few enough, too."""
        return max(1, min(self.most, MOST_BYTES * self._held // self._bytes if self._bytes else self.most))

    def _cut(self, low: Position, high: int, most: int) -> Position:
        """Return the last position up to `high` before which rows are few enough; one transaction at least."""
        if self._count(high) <= most:
            return Position(high)
        commits = self._facts.lsn
        first, last = (int(found) for found in np.searchsorted(commits, (low, high)))
        places = range(first + 1, last)
        count = bisect_left(places, True, key=lambda place: self._count(int(commits[place])) > most)
        return Position(int(commits[first + max(count, 1)])) if first + 1 < last else Position(high)


def _lsn(rows: pa.Table) -> Ints:
    found: Ints = rows["lsn"].to_numpy()
    return found
