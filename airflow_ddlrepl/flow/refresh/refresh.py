"""A refresh loads the tables that wait under one snapshot of the source; integrate goes on from exactly there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock

from airflow_ddlrepl.engines.source_catalog import SourceSnapshot
from airflow_ddlrepl.engines.target_state import StateChange, TargetState
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.capture.log_continuity import follow
from airflow_ddlrepl.flow.mapping.initial_state import as_enrolled, pending_state
from airflow_ddlrepl.flow.refresh.readiness import loadable, names_given_up
from airflow_ddlrepl.flow.refresh.requests import (
    ask,
    isolate,
    isolation_lock,
    let_wait,
    options_of,
    release_isolated,
    targets_at_once,
)
from airflow_ddlrepl.flow.refresh.row_origin import ShapesAtTarget
from airflow_ddlrepl.flow.refresh.source_rows import SourceRows
from airflow_ddlrepl.flow.refresh.table_loader import TableLoader
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.remedies import remedy_for
from airflow_ddlrepl.flow.run.results import Refreshed
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.sequences.replicate import bring_all
from airflow_ddlrepl.flow.snapshots.archive import save
from airflow_ddlrepl.flow.stages import REFRESH
from airflow_ddlrepl.flow.targets.readiness import has_new_target, prepared_targets, ready_targets
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.record import FIRST_LOAD, RELOAD, RELOADED, RefreshRequested
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import Cause, Suspension, TableState, TableStatus
from airflow_ddlrepl.notation.refresh_options import BULK, RefreshOptions
from airflow_ddlrepl.repository.stored.rows import RefreshRow
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide


@stage(REFRESH)
def refresh(context: RunContext, patterns: Sequence[str] = (), options: RefreshOptions = BULK) -> Refreshed:
    """Load every table that waits, and those that match a `schema.table` pattern (of the source).

    options: for the tables that match; the others are loaded as their actions' refresh_options say.
    """
    started = time.monotonic()
    rows: dict[str, int] = {}
    reasons: dict[str, str] = {}
    warnings: list[str] = []
    follow(context)
    asked: dict[str, dict[int, RefreshRow]] = {}
    isolation = FailureIsolation()
    for target in prepared_targets(context):
        with isolation.one(target.name):
            record(context, target.name)
            if patterns:
                ask(context, target.name, patterns, options)
            ask_for_reload(context, target.name)
            waiting = context.repository.pending_refreshes(context.channel.name, target.name)
            asked[target.name] = {row.table_id: row for row in waiting}
            now = context.target(target.name).state()
            if context.repository.holder(isolation_lock(context)) is None:
                release_isolated(context, target.name, now)
            isolate(context, target.name, context.target(target.name).state())
    for name, loaded in _each(context, asked):
        with isolation.one(name):
            done, refused, told = loaded()
            warnings += told
            for table_state, count in done:
                rows[str(table_state.name)] = count
                row = asked[name].get(table_state.table_id)
                reasons[str(table_state.name)] = row.reason if row else ""
            reach("refresh.placed")
            record(context, name)
            for error in refused:
                with isolation.one(name):
                    raise error
    if rows:
        bring_all(context, list(asked), isolation)
    isolation.end()
    return Refreshed(rows, reasons, round(time.monotonic() - started, 2), tuple(warnings))


def is_waiting(context: RunContext) -> bool:
    """Does any table wait for a refresh, or is a target new?"""
    context.captured()
    if has_new_target(context):
        return True
    return any(context.target(target.name).is_waiting() for target in ready_targets(context))


def has_loads(context: RunContext) -> bool:
    """Would a refresh load anything?"""
    return is_waiting(context) or is_reload_due(context)


def _pending(table_states: Mapping[int, TableState]) -> dict[int, TableState]:
    return {i: s for i, s in table_states.items() if s.waits_for_refresh}


Done = tuple[list[tuple[TableState, int]], list[DdlReplError], list[str]]
"""The tables that were loaded, each with its number of rows; the errors of the others; and warnings."""


def _each(context: RunContext, pending: Mapping[str, Mapping[int, RefreshRow]]) -> list[tuple[str, Callable[[], Done]]]:
    """Return a function per target that loads it, or waits for its load: several run at once where options say so.

    pending: the refreshes that wait, by target and table.
    """
    saved = _Saved()
    loads = [(name, partial(_refresh_target, context, name, saved, pending[name])) for name in pending]
    at_once = min(targets_at_once(context, pending), len(pending))
    if at_once <= 1:
        return list(loads)
    with ThreadPoolExecutor(at_once) as pool:
        return [(name, pool.submit(load).result) for name, load in loads]


@dataclass
class _Saved:
    """The ids of tables that this run has archived in the trail: each once, whichever target comes first."""

    ids: set[int] = field(default_factory=set)
    turn: Lock = field(default_factory=Lock)
    refused: dict[int, DdlReplError] = field(default_factory=dict)

    def save(
        self, context: RunContext, source: SourceSnapshot, position: Position, target: str
    ) -> dict[int, DdlReplError]:
        """Archive the tables of a snapshot; return why some of them could not be read. They are not loaded either."""
        with self.turn:
            self.refused |= save(context, source, position, target, self.ids)
            self.ids |= {table.id for table in source.tables}
            return {table.id: self.refused[table.id] for table in source.tables if table.id in self.refused}


def _refresh_target(context: RunContext, target: str, archived: _Saved, pending: Mapping[int, RefreshRow]) -> Done:
    """Load the tables that wait at one target. pending: the refreshes that wait, by table."""
    claim(context, target)
    place = context.target(target)
    if not place.is_waiting():
        return [], [], []
    with place.loading(context.token) as loader:
        now = let_missed_partitions_wait(context, target, place.state())
        with context.source.snapshot(list(_pending(now.table_states)), context.log_identity) as source:
            refused = {**source.refused, **archived.save(context, source, now.lsn, target)}
            for error in source.refused.values():
                log.warning("%s is not loaded: %s: %s", error.table, error.code, error.message)
            readable = [table for table in source.tables if table.id not in refused]
            if renames := names_given_up(context, target, now.table_states, readable):
                place.change_state(renames, context.fence)
                now = place.state()
            options = {t.id: options_of(context, target, t.name, pending.get(t.id)) for t in readable}
            states = now.table_states
            ready = list(loadable(context, target, now.lsn, states, readable))
            shapes = ShapesAtTarget(context, target, loader.facts, states, ready, source.snapshot)
            rows = SourceRows(source, shapes)
            tables = TableLoader(context, target, loader, rows, states, options=options, refused=refused)
            done = tables.run()
            refused = {i: _with_remedy(context, error) for i, error in refused.items()}
            _store_reasons(context, target, now, refused)
            return done, list(refused.values()), [*shapes.told, *tables.warnings]


def _with_remedy(context: RunContext, error: DdlReplError) -> DdlReplError:
    return error.replaced(hint="; ".join(filter(None, (error.hint, remedy_for(context, error)))))


def _store_reasons(context: RunContext, target: str, now: TargetState, refused: Mapping[int, DdlReplError]) -> None:
    """Store why tables could not be loaded: they go on waiting, and `ddlrepl status` shows it."""
    changed: dict[int, TableState] = {}
    for table_id, error in refused.items():
        before = now.table_states[table_id]
        at = LogKey(now.lsn, START_OF_TRANSACTION)
        why = Suspension(at, now.lsn, error.code, error.message, error.hint, before.state, Cause.of(error))
        known = before.suspension
        if known is None or not known.is_same_reason(why):
            changed[table_id] = replace(before, suspension=why)
    if changed:
        context.target(target).change_state(StateChange(states=changed), context.fence)


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


def let_missed_partitions_wait(run: RunContext, target: str, now: TargetState) -> TargetState:
    """Let the partitions of partitioned tables that wait for a load, and that the target lacks, wait with them.

    Their CREATE TABLE was left to the catch-up of the tree, which a load takes the place of. Also those that were
    partitions of these for a while. Those that come later in the log than the target is, come by it. Returns the
    target's state with them.
    """
    trees = {i for i, s in now.table_states.items() if s.state is TableStatus.PENDING and s.shape.is_partitioned}
    missed = _missed(run.repository.histories(run.channel.name), trees, now) if trees else {}
    client, present = client_at(run.channel.at(target)), run.target(target).facts() if missed else None
    found: dict[int, TableState] = {}
    for table_id, (table, history) in missed.items():
        if present is not None and decide(client, table.name, ChangeKind.TABLE).is_taken:
            found[table_id] = pending_state(run.channel.at(target), as_enrolled(run.channel, table, history), present)
            log.info("%s came to the source while the table that it was a partition of was not applied", table.name)
    if not found:
        return now
    asked = [RefreshRequested(i, FIRST_LOAD, now.lsn) for i in found]
    run.target(target).change_state(StateChange(states=found, records=asked), run.fence)
    return run.target(target).state()


def _missed(
    histories: Mapping[int, Sequence[Revision]], trees: set[int], now: TargetState
) -> dict[int, tuple[Table, Sequence[Revision]]]:
    """Return the tables that were partitions below these, and that the target does not have, with their histories."""
    inside, found = set(trees), dict[int, tuple[Table, Sequence[Revision]]]()
    while True:
        more = {
            table_id: (latest, history)
            for table_id, history in histories.items()
            if table_id not in inside
            and (latest := history[-1].table) is not None
            and history[0].key.lsn < now.lsn
            and any(one.table and one.table.partition and one.table.partition.of in inside for one in history)
        }
        if not more:
            return {i: one for i, one in found.items() if i not in now.table_states}
        inside |= more.keys()
        found |= more
