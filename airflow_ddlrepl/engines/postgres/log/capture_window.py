"""This module reads a window of the log into a trail.

The window is split into ranges, each decoded by a task, side by side where that is possible.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.log.capture_range import (
    NeedsText,
    RangeTask,
    Reader,
    binary_safe,
    capture_range,
    options_of,
    ranges,
    wire_types,
)
from airflow_ddlrepl.engines.postgres.log.oversized import Oversized, OversizedChange, around
from airflow_ddlrepl.engines.postgres.log.oversized_search import LogToSearch, find
from airflow_ddlrepl.engines.source import LogWindow
from airflow_ddlrepl.errors import RuleError, SourceError
from airflow_ddlrepl.model.change import of_source
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.streams.queue.lcr_batch import UNKNOWN_SHAPE
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.store import Trail

log = logging.getLogger("ddlrepl")

RANGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class LogReader:
    """A log reader says how the log is read: from which slot, through which publication, in which of two ways."""

    dsn: str = field(repr=False)
    slot: str
    publication: str
    reader: Reader


def capture_window(by: LogReader, window: LogWindow, runner: Runner) -> list[Part]:
    """Decode a window of the log into its trail; again in text format when a type needs that.

    With rules of a capture process it is read again as one range where rows have a shape that DDL in an earlier range
    has given to their table. Raises what `capture_range` raises; SourceError SRC-194 for a window beside a capture
    where only one session can read the log.
    """
    if window.is_beside and by.reader is Reader.PROTOCOL:
        raise SourceError(
            "the log that is not captured yet can't be read while a capture may read it",
            code="SRC-194",
            at=window.low,
            hint="grant EXECUTE on pg_logical_slot_peek_binary_changes, pg_copy_logical_replication_slot and"
            " pg_replication_slot_advance to the role; or run `ddlrepl replicate` first",
        )
    if window.rules is not None:
        try:
            return _captured(by, window, runner, is_binary=False)
        except RuleError as error:
            if error.code != UNKNOWN_SHAPE:
                raise
            log.info("reading the window again as one range: %s", error.message)
            return _captured(by, replace(window, parallelism=1), runner, is_binary=False)
    is_binary = not window.as_text and all(binary_safe(table) for table in window.tables)
    try:
        return _captured(by, window, runner, is_binary=is_binary)
    except NeedsText as reason:
        if not is_binary:
            raise
        log.info("reading the window again in text format: %s", reason.message)
        return _captured(by, window, runner, is_binary=False)


def _captured(by: LogReader, window: LogWindow, runner: Runner, *, is_binary: bool) -> list[Part]:
    """Decode a window; where the server can't send a change, again around the transaction that has it."""
    left_out: list[Oversized] = []
    while True:
        tasks = list(_tasks(by, window, left_out, is_binary=is_binary))
        try:
            if left_out and window.rules is not None:
                return list(_in_order(window, tasks, runner))
            if by.reader is Reader.PROTOCOL:  # a slot has one reader at a time
                return [part for task in tasks for part in runner.map(capture_range, [task], "capture")]
            return runner.map(capture_range, tasks, "capture", size=window.high - window.low)
        except OversizedChange as error:
            if len(left_out) >= window.limits.unsendable_transactions:
                raise
            left_out.append(_found(by, window, tasks, error))


def _in_order(window: LogWindow, tasks: Sequence[RangeTask], runner: Runner) -> Iterator[Part]:
    """Yield the parts of a capture process's ranges, each read with the shapes that DDL in those before it gave."""
    trail, shapes = Trail(window.trail_url, window.channel), list[Table]()
    for task in tasks:
        assert task.rules is not None
        rules = replace(task.rules, tables=(*task.rules.tables, *shapes))
        for part in runner.map(capture_range, [replace(task, rules=rules)], "capture"):
            shapes += [table for event in of_source(trail.part_events(part)) for table in event.tables]
            yield part


def _found(by: LogReader, window: LogWindow, tasks: Sequence[RangeTask], error: OversizedChange) -> Oversized:
    """Return what the server can't send, and warn of it. Raises the error where that can't be found."""
    tables = {table.id: table.name for table in window.tables if not table.is_partitioned}
    for task in (one for one in tasks if one.oversized is None):
        searched = LogToSearch(
            dsn=by.dsn,
            slot=by.slot,
            publication=by.publication,
            low=task.low,
            high=task.high,
            options=tuple(options_of(task)),
            timeline=window.timeline,
            tables=tables,
        )
        if (part := find(searched)) is not None:
            names = ", ".join(str(name) for _, name in part.tables)
            told = "%s (its own place is %s). The transaction is left out; what it may have written is loaded again: %s"
            log.warning(told, part.why, part.at, names)
            return part
    raise error


def _tasks(by: LogReader, window: LogWindow, left_out: Sequence[Oversized], *, is_binary: bool) -> Iterator[RangeTask]:
    parallel = 1 if by.reader is Reader.PROTOCOL else window.parallelism
    read = [
        r for low, high in around(window.low, window.high, left_out) for r in ranges(low, high, parallel, RANGE_BYTES)
    ]
    cuts = sorted([*((low, high, None) for low, high in read), *((one.low, one.high, one) for one in left_out)])
    for index, (low, high, part) in enumerate(cuts):
        yield RangeTask(
            dsn=by.dsn,
            slot=by.slot,
            is_behind=window.is_retained or window.is_beside,
            publication=by.publication,
            low=low,
            high=high,
            index=index,
            count=len(cuts),
            window_low=window.low,
            trail_url=window.trail_url,
            channel=window.channel,
            epoch=window.epoch,
            token=window.token,
            wire_format="binary" if is_binary else "text",
            types=tuple(wire_types(window.tables).items()),
            reader=by.reader,
            timeline=window.timeline,
            no_truncate=window.no_truncate,
            ignored=window.ignored,
            extract=window.extract,
            rules=window.rules,
            oversized=part,
            limits=window.limits,
        )
