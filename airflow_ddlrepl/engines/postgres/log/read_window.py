"""This module says how a window of PostgreSQL's log is read: in which ranges, in which format, around what."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.log.lineage import timeline_of
from airflow_ddlrepl.engines.postgres.log.oversized import Oversized, around
from airflow_ddlrepl.engines.postgres.log.oversized_search import LogToSearch, find
from airflow_ddlrepl.engines.postgres.log.read_range import LeftOutRange, PostgresRange, Reader, options_of, ranges
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import binary_safe, wire_types
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import NeedsText
from airflow_ddlrepl.engines.source import LogWindow
from airflow_ddlrepl.errors import OversizedChange, SourceError
from airflow_ddlrepl.model.position import Position

log = logging.getLogger("ddlrepl")

RANGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class LogReader:
    """A log reader says how the log is read: from which slot, through which publication, in which of two ways."""

    dsn: str = field(repr=False)
    slot: str
    publication: str
    reader: Reader


def read_window(by: LogReader, window: LogWindow) -> WindowReading:
    """Return how a window is read first: in binary format where all types allow that.

    Raises SourceError SRC-194 for a window beside a capture where only one session can read the log.
    """
    if window.is_beside and by.reader is Reader.PROTOCOL:
        raise SourceError(
            "the log that is not captured yet can't be read while a capture may read it",
            code="SRC-194",
            at=window.low,
            hint="grant EXECUTE on pg_logical_slot_peek_binary_changes, pg_copy_logical_replication_slot and"
            " pg_replication_slot_advance to the role; or run `ddlrepl replicate` first",
        )
    is_text = window.as_text or window.is_for_queue or not all(binary_safe(table) for table in window.tables)
    return WindowReading(by, window, is_binary=not is_text)


@dataclass(frozen=True)
class WindowReading:
    """A window's reading is one way to read it. left_out: transactions that the server can't send."""

    by: LogReader
    window: LogWindow
    is_binary: bool
    left_out: tuple[Oversized, ...] = ()

    @property
    def is_one_by_one(self) -> bool:
        """Must the ranges be read in log order, one at a time?

        A slot has one reader of the replication protocol. Rules need the shapes that DDL in front of a transaction that
        is left out has given to tables.
        """
        return self.by.reader is Reader.PROTOCOL or bool(self.left_out and self.window.is_for_queue)

    @property
    def ranges(self) -> Sequence[PostgresRange | LeftOutRange]:
        """Return the ranges, in log order."""
        read = self._stretches()
        plain = self._plain(len(read) + len(self.left_out))
        found = [replace(plain, low=low, high=high) for low, high in read]
        return sorted(
            [*found, *(LeftOutRange(one.low, one.high, one) for one in self.left_out)], key=lambda one: one.low
        )

    def otherwise(self, error: SourceError) -> WindowReading | None:
        """Return how to read the window after a range has failed: in text format, or around what can't be sent."""
        if isinstance(error, NeedsText) and self.is_binary:
            log.info("reading the window again in text format: %s", error.message)
            return replace(self, is_binary=False)
        if isinstance(error, OversizedChange) and len(self.left_out) < self.window.limits.unsendable_transactions:
            part = self._oversized()
            return replace(self, left_out=(*self.left_out, part)) if part is not None else None
        return None

    def _stretches(self) -> list[tuple[Position, Position]]:
        parallel = 1 if self.by.reader is Reader.PROTOCOL else self.window.parallelism
        parts = around(self.window.low, self.window.high, self.left_out)
        return [one for low, high in parts for one in ranges(low, high, parallel, RANGE_BYTES)]

    def _plain(self, count: int) -> PostgresRange:
        window = self.window
        return PostgresRange(
            dsn=self.by.dsn,
            slot=self.by.slot,
            publication=self.by.publication,
            low=window.low,
            high=window.high,
            count=count,
            wire_format="binary" if self.is_binary else "text",
            types=tuple(wire_types(window.tables).items()),
            reader=self.by.reader,
            timeline=timeline_of(window.log_identity),
            is_behind=window.is_retained or window.is_beside,
            ignored=window.ignored,
            is_for_queue=window.is_for_queue,
            limits=window.limits,
        )

    def _oversized(self) -> Oversized | None:
        """Return what the server can't send, and warn of it; None where that can't be found."""
        tables = {table.id: table.name for table in self.window.tables if not table.is_partitioned}
        for low, high in self._stretches():
            searched = LogToSearch(
                dsn=self.by.dsn,
                slot=self.by.slot,
                publication=self.by.publication,
                low=low,
                high=high,
                options=tuple(options_of(self._plain(1))),
                timeline=timeline_of(self.window.log_identity),
                tables=tables,
            )
            if (part := find(searched)) is not None:
                names = ", ".join(str(name) for _, name in part.tables)
                told = "%s (its own place is %s). The transaction is left out; its tables are loaded again: %s"
                log.warning(told, part.why, part.at, names)
                return part
        return None
