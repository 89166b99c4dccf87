"""This module writes a window of a source's log into the trail: its ranges side by side, where the source allows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from airflow_ddlrepl.capture.write_range import LogWriting, RangeTask, write_range
from airflow_ddlrepl.errors import ShapeUnknown, SourceError
from airflow_ddlrepl.model.change import of_source
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.log import LogReading
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.manifest import Part
from airflow_ddlrepl.trail.store import Trail

log = logging.getLogger("ddlrepl")

Read = Callable[[bool], LogReading]
"""This function returns how a window is read: in ranges side by side, or, told so, as one range."""


def write_window(read: Read, writing: LogWriting, runner: Runner) -> list[Part]:
    """Write a window of the log; the parts count once a segment manifest names them.

    With rules of a capture process it is read again as one range where rows have a shape that DDL in an earlier range
    has given to their table. Raises what `write_range` raises.
    """
    try:
        return _written(read(False), writing, runner)
    except ShapeUnknown as error:
        if writing.rules is None:
            raise
        log.info("reading the window again as one range: %s", error.message)
        return _written(read(True), writing, runner)


def _written(reading: LogReading, writing: LogWriting, runner: Runner) -> list[Part]:
    """Write a window; where it can't be read in one way, in the next one that its source knows."""
    while True:
        tasks = [RangeTask(one, index, writing) for index, one in enumerate(reading.ranges)]
        try:
            if reading.is_one_by_one:
                return list(_in_order(tasks, runner))
            size = sum(one.range.high - one.range.low for one in tasks)
            return runner.map(write_range, tasks, "capture", size=size)
        except SourceError as error:
            other = reading.otherwise(error)
            if other is None:
                raise
            reading = other


def _in_order(tasks: Sequence[RangeTask], runner: Runner) -> Iterator[Part]:
    """Yield the parts of ranges; rules get the shapes that DDL in the ranges before has given to tables."""
    shapes: list[Table] = []
    for task in tasks:
        (part,) = runner.map(write_range, [replace(task, writing=task.writing.with_shapes(shapes))], "capture")
        if task.writing.rules is not None:
            trail = Trail(task.writing.trail_url, task.writing.channel)
            shapes += [table for event in of_source(trail.part_events(part)) for table in event.tables]
        yield part
