"""A person may ask for tables to be loaded again, with options; these and the others that wait get theirs here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.program.suspend import isolated
from airflow_ddlrepl.engines.target_state import WAITING, StateChange, TargetState
from airflow_ddlrepl.errors import ConfigError, UnreadableRows
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey
from airflow_ddlrepl.model.record import BY_HAND, FIRST_LOAD, RELOAD, UNREADABLE, RefreshRequested
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import ISOLATED, Cause, PartialRefresh, Suspension, TableState, TableStatus
from airflow_ddlrepl.notation.name_pattern import any_matches
from airflow_ddlrepl.notation.refresh_options import BULK, Difference, RefreshOptions, read_options
from airflow_ddlrepl.repository.stored.rows import RefreshRow

LOADED_ALONE = "a refresh loads it, while the other tables go on"
_LOADED = (TableStatus.LIVE, TableStatus.SUSPENDED)
"""A table in one of these states has rows of the source, and a refresh replaces them."""


def ask(run: RunContext, target: str, patterns: Sequence[str], options: RefreshOptions) -> None:
    """Let tables wait for a refresh that a person asks for. Raises ConfigError CFG-131 when no table matches.

    The options are recorded with the reason: a run that goes on where this one was killed has them, too.
    """
    latest = run.repository.latest_revisions(run.channel.name)
    reason, how = BY_HAND if options == BULK else f"{BY_HAND}: {options}", str(options)
    now = run.target(target).state()
    tables = {i: r.table for i, r in latest.items() if r.table is not None and i in now.table_states}
    named = {i for i, table in tables.items() if any_matches(patterns, table.name)}
    wanted = {i: now.table_states[i] for i in _and_partitions(tables, named)}
    asked = {
        i: _to_be_loaded(run, target, tables[i], s, options.context) if s.state in _LOADED else s
        for i, s in wanted.items()
        if s.state in (*_LOADED, *WAITING)
    }
    if not named and not any(s.state in WAITING for s in now.table_states.values()):
        raise no_table_matches(patterns)
    let_wait(run, target, asked, [RefreshRequested(i, reason, now.lsn, True, how) for i in asked])
    record(run, target)


def no_table_matches(patterns: Sequence[str]) -> ConfigError:
    """Return the error CFG-131 for patterns that match no table of the channel."""
    return ConfigError(
        f"no table of the channel matches {', '.join(patterns)}",
        code="CFG-131",
        hint="`ddlrepl status` lists the channel's tables; names are schema.table of the source",
    )


def _to_be_loaded(run: RunContext, target: str, table: Table, now: TableState, context: str) -> TableState:
    """Return the state of a table whose rows, or those of them that the file chooses, are to be loaded again."""
    limit = run.channel.at(target).refresh_limit(table.name, context)
    if not limit or now.state is not TableStatus.LIVE or table.is_partitioned:
        return replace(now, state=TableStatus.PENDING)
    return replace(now, partial=PartialRefresh(limit))


def _and_partitions(tables: Mapping[int, Table], named: Iterable[int]) -> set[int]:
    """Return the ids with those of partitions: a partitioned table has no rows, so its partitions are loaded."""
    found = set(named)
    while more := {i for i, t in tables.items() if t.partition and t.partition.of in found} - found:
        found |= more
    return found


def reload_unreadable(run: RunContext, target: str, error: UnreadableRows) -> bool:
    """Let the table that the error names wait to be loaded again. False: there is no such live table.

    A transaction that was open while a label of an enum was renamed wrote rows that the log shows with the former one.
    """
    now = run.target(target).state()
    found = {i: s for i, s in now.table_states.items() if error.table_id in (i, None)}
    if error.table_id is None:
        found = {i: s for i, s in found.items() if str(s.name) == error.table}
    live = {i: s for i, s in found.items() if s.state is TableStatus.LIVE or _is_suspended_alone(s)}
    waits = {i: replace(table_state, state=TableStatus.PENDING) for i, table_state in live.items()}
    let_wait(run, target, waits, [RefreshRequested(i, UNREADABLE, now.lsn) for i in waits])
    record(run, target)
    return bool(waits)


def isolation_lock(run: RunContext) -> str:
    """Return the name of the lock that one isolated refresh of the channel holds at a time."""
    return f"{run.channel.name}#isolated"


def isolate(
    run: RunContext, target: str, now: TargetState, pending: Mapping[int, RefreshRow] = MappingProxyType({})
) -> list[TableState]:
    """Isolate the tables that wait, as the options asked for, or those of their actions, say; return all isolated ones.

    A partitioned table, and a partition, is loaded with the others: its tree changes as a whole.
    """
    latest = run.repository.latest_revisions(run.channel.name)
    at = LogKey(now.lsn, START_OF_TRANSACTION)
    found: dict[int, TableState] = {}
    for table_id, one in now.table_states.items():
        table = latest[table_id].table if table_id in latest else None
        if one.state is not TableStatus.PENDING or table is None or table.partition or table.is_partitioned:
            continue
        if options_of(run, target, table.name, pending.get(table_id)).isolates:
            why = Suspension(at, now.lsn, ISOLATED, LOADED_ALONE, status=one.state, cause=Cause.REFRESH)
            found[table_id] = replace(one, state=TableStatus.SUSPENDED, suspension=why)
    if found:
        run.target(target).change_state(StateChange(states=found), run.fence)
    return isolated({**now.table_states, **found})


def release_isolated(run: RunContext, target: str, now: TargetState) -> None:
    """Let tables wait as others do that a person isolated, and whose load has ended without them."""
    latest = run.repository.latest_revisions(run.channel.name)
    waits: dict[int, TableState] = {}
    for one in isolated(now.table_states):
        table = latest[one.table_id].table if one.table_id in latest else None
        by_actions = table is not None and policy_at(run.channel.at(target), table.name).refresh.isolates
        if one.suspension is not None and not by_actions:
            waits[one.table_id] = replace(one, state=one.suspension.status, suspension=None)
    if waits:
        run.target(target).change_state(StateChange(states=waits), run.fence)


def _is_suspended_alone(state: TableState) -> bool:
    """Is the table suspended, and no partition of one?"""
    return state.state is TableStatus.SUSPENDED and state.shape.partition is None


def let_wait(
    run: RunContext, target: str, waits: Mapping[int, TableState], requests: Sequence[RefreshRequested]
) -> None:
    """Let these tables wait for a refresh, in one transaction with the records of it for the repository."""
    run.target(target).change_state(StateChange(states=waits, records=requests), run.fence)


def options_of(run: RunContext, target: str, table: TableName, pending: RefreshRow | None) -> RefreshOptions:
    """Return the options that a waiting table is loaded with: a person's, else those of the actions.

    Rows that the target could never have had are no difference that a mask leaves. table: its name at the source.
    """
    how = pending.how if pending else ""
    if how not in ("", FIRST_LOAD, RELOAD):
        return read_options(how)
    options = policy_at(run.channel.at(target), table).refresh
    return replace(options, mask=options.mask - {Difference.INSERT}) if how == FIRST_LOAD else options


def targets_at_once(run: RunContext, pending: Mapping[str, Mapping[int, RefreshRow]]) -> int:
    """Return the largest number of targets at once in the options of a waiting table. pending: by target and table."""
    latest = run.repository.latest_revisions(run.channel.name)
    waiting = [(latest.get(i), row) for rows in pending.values() for i, row in rows.items()]
    known = [(one.table, row) for one, row in waiting if one is not None and one.table is not None]
    return max([options_of(run, row.target, table.name, row).targets for table, row in known], default=1)
