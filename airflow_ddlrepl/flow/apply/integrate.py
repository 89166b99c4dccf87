"""Integrate merges the captured rows into every target, after the tables that could not follow before."""

from __future__ import annotations

import time

from airflow_ddlrepl.adapt.program.suspend import suspended
from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.flow.apply.advance import bring, pending_logs, to_the_end
from airflow_ddlrepl.flow.apply.catch_up import catch_up, retained_from
from airflow_ddlrepl.flow.apply.suspension import suspended_error
from airflow_ddlrepl.flow.apply.transaction import raise_stop
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.limits import require_within
from airflow_ddlrepl.flow.run.results import Integrated
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.sequences.replicate import bring_all, has_sequence_changes
from airflow_ddlrepl.flow.snapshots.archive import renew
from airflow_ddlrepl.flow.snapshots.retention import expire
from airflow_ddlrepl.flow.stages import INTEGRATE
from airflow_ddlrepl.flow.targets.apply_interval import apply_wait, applying
from airflow_ddlrepl.flow.targets.readiness import has_new_target, prepared_targets
from airflow_ddlrepl.model.position import Position


@stage(INTEGRATE)
def integrate(run: RunContext, until: Position | None = None, before: Applied | None = None) -> Integrated:
    """Merge the rows up to the captured position into every target that takes them.

    until: not beyond it; without it a target may wait by `apply_every`. before: what this cycle has applied while it
    captured.
    """
    started = time.monotonic()
    total = before or Applied()
    positions: dict[str, Position] = {}
    retained: dict[str, Position] = {}
    waiting: dict[str, dict[str, str]] = {}
    isolation = FailureIsolation()
    for target in prepared_targets(run, until):
        with isolation.one(target.name):
            if until is None and (wait := apply_wait(run, target.name)) is not None:
                waiting[target.name] = wait.to_json()
                retained[target.name] = retained_from(run, target.name, run.target(target.name).state().lsn)
                continue
            with applying(run, target.name):
                catch_up(run, target.name, total)
                program = bring(run, target.name, to_the_end, total, until)
            positions[target.name] = program.high
            retained[target.name] = retained_from(run, target.name, program.high)
            total.warnings += [f"target {target.name}: {one.what}" for one in run.target(target.name).dangers()]
            raise_stop(run, target.name, program)
        with isolation.one(target.name):
            if target.name in positions and (error := suspended_error(run, target.name)):
                raise error
    sequences = bring_all(run, list(positions), isolation)
    expired = 0
    with isolation.one():
        renew(run)
        if retained.keys() == {target.name for target in run.channel.targets}:
            expired = expire(run, min(retained.values()))
    with isolation.one():
        require_within(run)
    isolation.end()
    seconds = round(time.monotonic() - started, 2)
    left, conflicts, warnings = dict(total.discarded), dict(total.conflicts), tuple(dict.fromkeys(total.warnings))
    for warning in warnings:
        log.warning("%s", warning)
    done = (seconds, expired, left, dict(sequences), conflicts, warnings, waiting)
    return Integrated(dict(total.rows), positions, *done)


def has_rows(run: RunContext) -> bool:
    """Does a target that does not wait lack rows or events that are captured, or is one new?"""
    run.captured()
    if has_new_target(run):
        return True
    logs = pending_logs(run)
    if any(suspended(ahead.table_states) for ahead in logs):
        return True
    for ahead in logs:
        segments = run.repository.segments(run.channel.name, ahead.low)
        if any(segment.rows or segment.events for segment in segments):
            return True
    return False


def has_log_without_rows(run: RunContext) -> bool:
    """Is there log without rows that a target has not passed, or a sequence of one that does not wait has moved?"""
    logs = pending_logs(run)
    if run.targets.failed:
        return False
    return any(one.low < one.high for one in logs) or has_sequence_changes(run, [one.target for one in logs])
