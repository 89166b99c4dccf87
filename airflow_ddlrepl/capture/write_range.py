"""This module writes one range of a source's log into the trail, whatever kind of database the source is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.goldengate.extract import extracted
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.log import LogBatch, LogRange
from airflow_ddlrepl.streams.queue.ruled_writer import ClientRules, RuledWriter
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.trail.writer import PartWriter, undone_on_failure


@dataclass(frozen=True, slots=True)
class LogWriting:
    """A log writing says into whose trail a window of a log is written, and what is taken of it. It is picklable.

    low: where the window begins, which names the segment. epoch, token: of the run. no_truncate: a TRUNCATE makes no
    change, only a note. extract: which DDL statements are captured; None: all. rules: of a capture process of Streams;
    None: there is none. values: how the source's values are shown to rules; needed with `rules`.
    """

    trail_url: str = field(repr=False)
    channel: str
    epoch: int
    token: int
    low: Position
    no_truncate: bool = False
    extract: ExtractParameters | None = None
    rules: ClientRules | None = None
    values: ChangeValues | None = None

    def with_shapes(self, shapes: Sequence[Table]) -> LogWriting:
        """Return this writing with more shapes of tables that rules may meet."""
        if self.rules is None or not shapes:
            return self
        return replace(self, rules=replace(self.rules, tables=(*self.rules.tables, *shapes)))

    def writer(self, index: int) -> PartWriter | RuledWriter:
        """Return what writes a part of the window's segment. Raises RuleError (RUL-134, RUL-135)."""
        part = PartWriter(Trail(self.trail_url, self.channel), self.epoch, self.low, index, self.token)
        if self.rules is None:
            return part
        assert self.values is not None, "rules look at values"
        return RuledWriter(part, self.rules, self.values)


@dataclass(frozen=True, slots=True)
class RangeTask:
    """A range task writes one range of a window as a part of its segment. It is picklable. index: of the part."""

    range: LogRange
    index: int
    writing: LogWriting


def write_range(task: RangeTask) -> Part:
    """Write what a range of the log contains; the part counts once a segment manifest names it.

    Raises SourceError where the range can't be read, RuleError where rules can't be evaluated.
    """
    if task.range.high <= task.range.low:
        return Part(task.index, task.range.low, task.range.high)
    found: Part | LogRange = task.range
    while not isinstance(found, Part):
        found = _written(found, task)
    reach("capture.range")
    return found


def _written(of: LogRange, task: RangeTask) -> Part | LogRange:
    """Write a range; return its part, or the range to read in its place."""
    writer, size = task.writing.writer(task.index), 0
    with undone_on_failure(writer):
        for batch in of.read():
            if batch.again is not None:
                writer.discard()
                return batch.again
            _write_rows(batch, writer)
            for event in batch.events:
                writer.event(_taken(event, task.writing))
            if batch.transactions is not None:
                writer.transactions(batch.transactions)
            size += batch.bytes_read
        return writer.finish(of.low, of.high, size)


def _write_rows(batch: LogBatch, writer: PartWriter | RuledWriter) -> None:
    if isinstance(writer, PartWriter):
        for layout, rows in batch.rows:
            writer.rows(layout, rows)
        return
    if batch.user:
        writer.read_as(batch.user)
    writer.learn(batch.shapes)
    if batch.rows and batch.begun is not None:
        facts = TransactionFacts.of(batch.begun)
        for layout, rows in batch.rows:
            writer.rows(layout, rows, facts)


def _taken(event: Event, writing: LogWriting) -> Event:
    """Return a control record as it is written: as Extract leaves it, and without its TRUNCATE where none is taken."""
    is_left = writing.no_truncate and event.kind is EventKind.TRUNCATE
    event = event if writing.extract is None else extracted(event, writing.extract)
    return replace(event, kind=EventKind.NO_TRUNCATE) if is_left else event
