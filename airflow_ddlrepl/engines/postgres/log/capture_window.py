"""This module reads a window of the log into a trail.

The window is split into ranges, each decoded by a task, side by side where that is possible.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.log.capture_range import (
    NeedsText,
    RangeTask,
    Reader,
    binary_safe,
    capture_range,
    ranges,
    wire_types,
)
from airflow_ddlrepl.engines.source import LogWindow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.queues.lcr_batch import UNKNOWN_SHAPE
from airflow_ddlrepl.trail.manifest import Part

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
    has given to their table. Raises what `capture_range` raises.
    """
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
    parallel = 1 if by.reader is Reader.PROTOCOL else window.parallelism
    cuts = ranges(window.low, window.high, parallel, RANGE_BYTES)
    tasks = [
        RangeTask(
            dsn=by.dsn,
            slot=by.slot,
            is_behind=window.is_retained,
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
        )
        for index, (low, high) in enumerate(cuts)
    ]
    return runner.map(capture_range, tasks, "capture", size=window.high - window.low)
