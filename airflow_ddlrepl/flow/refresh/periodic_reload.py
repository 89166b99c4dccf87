"""Reloading: tables that the log can't bring, and that are therefore loaded whole, every cycle or every so often."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.adapt.program.program import State
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.flow.refresh.requests import suspend
from airflow_ddlrepl.flow.run.context import Cycle
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.record import RELOADED, RefreshAsked


def ask_for_reload(cycle: Cycle, target: str) -> None:
    """Mark the tables as waiting whose turn it is."""
    if not (due := _due(cycle, target)):
        return
    with session(cycle.target_dsn(target)) as connection:
        now = state.read_state(connection, cycle.channel.name)
        live = {i: s for i, s in now.standings.items() if i in due and s.state is State.LIVE}
        waits = {i: replace(standing, state=State.PENDING) for i, standing in live.items()}
        suspend(cycle, target, connection, waits, [RefreshAsked(i, RELOADED, now.lsn) for i in waits])
    record(cycle, target)


def is_reload_due(cycle: Cycle) -> bool:
    """Is a table to be loaded whole at a target that answers?"""
    return any(_due(cycle, target.name) for target in ready_targets(cycle))


def _due(cycle: Cycle, target: str) -> set[int]:
    ids = {one.table_id for one in cycle.source.left_out() if one.is_reloaded}
    every = cycle.channel.source.reload_every
    if not ids or not every:
        return ids
    since = datetime.now(UTC) - timedelta(seconds=every)
    done = cycle.repository.refreshes(cycle.channel.name, target, "done")
    return ids - {row.table_id for row in done if row.finished and row.finished > since}
