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
            if reading.leaves_out and writing.rules is not None:
                return list(_in_order(writing, tasks, runner))
            if reading.is_one_by_one:
                return [part for task in tasks for part in runner.map(write_range, [task], "capture")]
            size = sum(one.range.high - one.range.low for one in tasks)
            return runner.map(write_range, tasks, "capture", size=size)
        except SourceError as error:
            other = reading.otherwise(error)
            if other is None:
                raise
            reading = other


def _in_order(writing: LogWriting, tasks: Sequence[RangeTask], runner: Runner) -> Iterator[Part]:
    """Yield the parts of a capture process's ranges, each read with the shapes that DDL in those before it gave."""
    assert writing.rules is not None
    trail, shapes = Trail(writing.trail_url, writing.channel), list[Table]()
    for task in tasks:
        rules = replace(writing.rules, tables=(*writing.rules.tables, *shapes))
        ruled = replace(task, writing=replace(writing, rules=rules))
        for part in runner.map(write_range, [ruled], "capture"):
            shapes += [table for event in of_source(trail.part_events(part)) for table in event.tables]
            yield part
