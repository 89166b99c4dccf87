"""Tables that the log can't bring are loaded whole, every cycle or every so often."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.flow.refresh.requests import let_wait
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.record import RELOAD, RELOADED, RefreshRequested
from airflow_ddlrepl.model.table_state import TableStatus


def ask_for_reload(run: RunContext, target: str) -> None:
    """Let the target's tables wait for a refresh that are due to be loaded whole."""
    if not (due := _due(run, target)):
        return
    now = run.target(target).state()
    live = {i: s for i, s in now.table_states.items() if i in due and s.state is TableStatus.LIVE}
    waits = {i: replace(table_state, state=TableStatus.PENDING) for i, table_state in live.items()}
    let_wait(run, target, waits, [RefreshRequested(i, RELOADED, now.lsn, how=RELOAD) for i in waits])
    record(run, target)


def is_reload_due(run: RunContext) -> bool:
    """Is a table to be loaded whole at a target that answers?"""
    return any(_due(run, target.name) for target in ready_targets(run))


def _due(run: RunContext, target: str) -> set[int]:
    ids = {one.table_id for one in run.source.membership.left_out() if one.is_reloaded}
    every = run.channel.source.reload_every
    if not ids or not every:
        return ids
    since = datetime.now(UTC) - timedelta(seconds=every)
    done = run.repository.refreshes(run.channel.name, target, "done")
    return ids - {row.table_id for row in done if row.finished and row.finished > since}
