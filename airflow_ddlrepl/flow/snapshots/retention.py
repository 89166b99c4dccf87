"""The trail retains log that every target has applied for as long as `retention` says; without it, for ever."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.config.sections.retention import Retention
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.clock import is_clock_right
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.snapshots.archive import forgettable
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.trail.loads import readable_loads, remove

LEFTOVER_SECONDS = 24 * 3600.0


def expire(run: RunContext, passed: Position) -> int:
    """Remove segments that are older, or more in bytes, than the channel retains, and return how many.

    Nothing is removed while this machine's clock and the source's differ.
    passed: every target has applied what is before it. Files of killed runs are removed too, a day after they were
    written.
    """
    live, now = run.live_segments(), datetime.now(UTC)
    before = past_retention(live, run.channel.retention, passed, now)
    if before is not None and run.channel.rewind_horizon is not None:
        needed = forgettable(run, now)
        before = None if needed is None else min(before, needed)
    if before is None or not is_clock_right(run):
        return 0
    run.check_lock()
    count = run.repository.expire_segments(run.channel.name, run.token, before)
    reach("keep.repository")
    run.trail.expire(before)
    for epoch in range(run.epoch + 1):
        for load in readable_loads(run.trail, epoch):
            if epoch < run.epoch or load.position < before:
                remove(run.trail, load)
                run.repository.forget_loads(run.channel.name, run.token, [(load.epoch, load.name)])
    reach("keep.files")
    leftovers = run.trail.sweep(LEFTOVER_SECONDS)
    log.info("trail: %d segments before %s expired, %d leftover files removed", count, before, len(leftovers))
    return count


def past_retention(live: Sequence[SegmentRow], limits: Retention, passed: Position, now: datetime) -> Position | None:
    """Return the position up to which segments (in log order) may be removed; None: nothing is removed."""
    before = None
    size = sum(row.bytes for row in live)
    for row in live:
        is_old = limits.age is not None and row.created < now - timedelta(seconds=limits.age)
        is_too_much = limits.size is not None and size > limits.size
        if row.high > passed or not (is_old or is_too_much):
            break
        before, size = row.high, size - row.bytes
    return before
