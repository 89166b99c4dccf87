"""One cycle of a channel with `targets`: capture the log, adapt the targets, refresh what must be loaded, integrate."""

from __future__ import annotations

from airflow_ddlrepl.flow.apply.advance import adapt
from airflow_ddlrepl.flow.apply.integrate import integrate
from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.capture.file_changes import require_file_taken_over
from airflow_ddlrepl.flow.capture.left_out import require_in_stream
from airflow_ddlrepl.flow.cycle.windows_applied import WindowsApplied
from airflow_ddlrepl.flow.refresh.refresh import is_waiting, refresh
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Refreshed, Replicated
from airflow_ddlrepl.flow.targets.stop_position import Until, limit, require_past
from airflow_ddlrepl.model.position import Position


def run_stages(run: RunContext, until: Until | None = None) -> Replicated:
    """Run the stages one after the other, as `replicate` says; rows of a long log go ahead of them (`WindowsApplied`).

    Where a target waits for a person (ControlStop, CannotAdapt) or does not take what comes, or a table has left the
    stream, all that need not wait for it goes on; then the error is raised.
    """
    if until is not None:
        require_past(run, until)
    with WindowsApplied(run) as ahead:
        captured = capture(run, ahead.tell if until is None else None)
    high = None if until is None else limit(run, until)
    isolation = FailureIsolation()
    with isolation.one():
        adapted = adapt(run, high)
    with isolation.one():
        refreshed = _refresh(run, high)
    with isolation.one():
        integrated = integrate(run, high, ahead.applied)
    with isolation.one():
        require_in_stream(captured)
    with isolation.one():
        require_file_taken_over(captured)
    isolation.end()
    if high is None and is_waiting(run):  # rows came that a target can't read
        return Replicated(captured, adapted, refreshed.and_then(refresh(run)), integrated.and_then(integrate(run)))
    return Replicated(captured, adapted, refreshed, integrated)


def _refresh(run: RunContext, high: Position | None) -> Refreshed:
    if high is None:
        return refresh(run)
    if is_waiting(run):
        log.warning("tables that wait for a refresh go on waiting: it would show what is later than %s", high)
    return Refreshed()
