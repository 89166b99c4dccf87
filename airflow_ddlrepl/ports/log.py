"""This module is the port of a source's log: one window of it, read in ranges by tasks that run anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.row_layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class LogBatch:
    """A log batch is what the next piece of a log contains. Its rows come before its events, both in log order.

    rows: row changes by layout, as the trail stores them. events: control records, those of a transaction together.
    shapes: that tables get in this piece, where its events come later. transactions: that have ended, with the
    trail's columns of them. begun: all that `rows` are of, where the log is read for a queue. bytes_read: for it.
    user: of the connection over which a log for a queue is read. again: the range to read in place of this one, from
    its beginning: what came before had changes that are to be left out, which only what came later has shown.
    """

    rows: Sequence[tuple[Layout, pa.RecordBatch]] = ()
    events: Sequence[Event] = ()
    shapes: Sequence[Table] = ()
    transactions: pa.RecordBatch | None = None
    begun: pa.RecordBatch | None = None
    bytes_read: int = 0
    user: str = ""
    again: LogRange | None = None


@dataclass(frozen=True, slots=True)
class LogRange(ABC):
    """A log range is a part of a window that one task reads, [low, high). It is picklable.

    Its text shows no location.
    """

    low: Position
    high: Position

    @abstractmethod
    def read(self) -> Iterator[LogBatch]:
        """Yield what committed in it, batch by batch; nothing is confirmed to the source, so it can be read again.

        Raises SourceError where it can't be read.
        """


class LogReading(Protocol):
    """A log reading is one way to read a window: the ranges that it is read in."""

    @property
    def ranges(self) -> Sequence[LogRange]:
        """Return the ranges, which make up the window, in log order."""
        ...

    @property
    def is_one_by_one(self) -> bool:
        """Must the ranges be read in log order, one at a time?"""
        return False

    def otherwise(self, error: SourceError) -> LogReading | None:
        """Return the way to read the window after this failure of a range; None where the failure stands."""
        return None


@dataclass(frozen=True)
class LogRanges(LogReading):
    """Log ranges are a reading that has no other way beside it. side_by_side: may they be read so?"""

    found: Sequence[LogRange]
    side_by_side: bool = False

    @property
    def ranges(self) -> Sequence[LogRange]:
        """Return the ranges."""
        return self.found

    @property
    def is_one_by_one(self) -> bool:
        """Return whether they must be read in log order, one at a time."""
        return not self.side_by_side
