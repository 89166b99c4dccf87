"""A plan says what the next cycle would do to the targets' shapes; to plan changes nothing anywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.adapt.plan.text import as_text
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.program.suspend import suspended
from airflow_ddlrepl.flow.apply.pending_log import UncapturedLog, pending_log
from airflow_ddlrepl.flow.apply.transaction import plans
from airflow_ddlrepl.flow.capture.captured_log import window_of, write_log, writing_of
from airflow_ddlrepl.flow.capture.drift_check import enrolled, find_drift, inspect_source
from airflow_ddlrepl.flow.capture.file_changes import FileChange
from airflow_ddlrepl.flow.capture.log_continuity import follow, require_source
from airflow_ddlrepl.flow.pipelines import require_targets
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.readiness import what_is_missing
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail
from airflow_ddlrepl.visible import as_lines


@dataclass(frozen=True)
class Planned:
    """A plan of the next cycle has the plans of each target in log order, the one that waits for a person last.

    rows: about how many each refresh would move.
    missing: by name, why nothing is planned for a target that does not answer or is not prepared for the channel.
    suspended: by target, its tables that the cycle tries to catch up first; their changes are not among the plans.
    """

    low: Position
    high: Position
    targets: Mapping[str, list[TablePlan]]
    rows: Mapping[str, int]
    missing: Mapping[str, str] = field(default_factory=dict)
    suspended: Mapping[str, Sequence[TableState]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the plans for XCom and --json."""
        found = {
            name: [
                {**p.to_json(), "rows_to_move": self.rows.get(str(p.name), 0) if p.needs_refresh else 0}
                for p in planned
            ]
            for name, planned in self.targets.items()
        }
        late = {name: [_suspended(one) for one in tables] for name, tables in self.suspended.items()}
        at = {"from": str(self.low), "to": str(self.high)}
        return {**at, "targets": found, "missing": dict(self.missing), "suspended": late}

    def text(self) -> str:
        """Return the plans as text for people."""
        lines = [f"from {self.low} to {self.high}"]
        for name, planned in self.targets.items():
            lines += [f"target {name}", *as_text(planned).rstrip().split("\n")]
            moved = {p.name: self.rows.get(str(p.name), 0) for p in planned if p.needs_refresh}
            lines += [f"rows to move: {table} about {count}" for table, count in moved.items()]
            late = map(_suspended, self.suspended.get(name, ()))
            lines += ["suspended: {table} since {since}: {why}".format(**one) for one in late]
        lines += [f"target {name}: {why}" for name, why in self.missing.items()]
        return as_lines(lines)


def _suspended(table_state: TableState) -> dict[str, str]:
    """Return since which position a table is suspended, and why."""
    known = table_state.suspension
    assert known is not None
    return {"table": str(table_state.name), "since": str(Position(known.at.lsn)), "why": str(known), "hint": known.hint}


def plan(run: RunContext) -> Planned:
    """Return the plans for everything committed so far, captured or not.

    Reads the log beside the trail, confirms nothing.
    """
    require_targets(run.channel, "plan")
    low = run.captured()
    follow(run)
    require_source(run, low)
    inspection = inspect_source(run, FileChange())
    end = run.source.stable_end()
    with tempfile.TemporaryDirectory(prefix="ddlrepl-plan-") as folder:
        window = replace(window_of(run, low, end), parallelism=1)
        parts = write_log(run, window, writing_of(run, low, folder), InProcess()) if end > low else []
        segment = Segment(run.channel.name, run.epoch, 0, low, end, tuple(parts))
        events = Trail(folder, run.channel.name).events(segment)
        drift = find_drift(run, segment, events, inspection, is_last=True)
    events = sorted([*events, *drift], key=lambda e: e.key)
    found = enrolled(run, events, run.repository.latest_revisions(run.channel.name))
    ahead = UncapturedLog(events, found, end)
    targets: dict[str, list[TablePlan]] = {}
    missing: dict[str, str] = {}
    late: dict[str, list[TableState]] = {}
    for target in run.targets.answering():
        if why := what_is_missing(run, target.name):
            missing[target.name] = why
            continue
        before = pending_log(run, target.name, ahead)
        program = before.program(end)
        late[target.name] = suspended(before.table_states)
        targets[target.name] = plans(program) + ([program.stop] if program.stop else [])
    missing |= {name: error.message for name, error in run.targets.failed.items()}
    return Planned(low, end, targets, _rows(run, targets), missing, late)


def _rows(run: RunContext, targets: Mapping[str, list[TablePlan]]) -> dict[str, int]:
    """Return the number of rows, by the source's statistics, of each table that is to be refreshed."""
    names = {p.name for planned in targets.values() for p in planned if p.needs_refresh}
    return {str(name): count for name, count in run.source.catalog.estimated_rows(names).items()}
