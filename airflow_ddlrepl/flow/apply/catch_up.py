"""A catch-up brings suspended tables from their place in the log up to where their target is, exactly once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from airflow_ddlrepl.adapt.program.suspend import CatchUp, behind, families, family, needed_from, suspended
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.engines.target_state import Applied, StateChange, TargetState
from airflow_ddlrepl.errors import CannotAdapt, ControlStop, DdlReplError, NameOutside, ServerRefusal, TargetError
from airflow_ddlrepl.flow.apply.advance import bring_claimed, to_the_end
from airflow_ddlrepl.flow.apply.pending_log import Attempt, starting_points
from airflow_ddlrepl.flow.apply.transaction import raise_stop
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record, RefreshDeclined, RefreshRequested
from airflow_ddlrepl.model.table_state import Cause, Suspension, TableState, TableStatus


def catch_up(run: RunContext, target: str, total: Applied, ids: Collection[int] | None = None) -> None:
    """Bring suspended tables up to the position of their target; one that is refused again stays as it is.

    A table may need rows of another one, or its name: these are tried again after the others, and at last together.
    ids: of the tables to try; None: all but those that a refresh has isolated.
    """
    if not _suspended_families(run, target, ids):
        return
    claim(run, target)
    record(run, target)
    todo = _suspended_families(run, target, ids)  # what a killed run had begun is done now
    while todo:
        failed = [one for one in todo if not _is_brought_up(run, target, one, total)]
        stopped = [one for one in failed if _needs_others(run, target, one)]
        if len(failed) == len(todo):
            _bring_up_together(run, target, stopped, total)
            return
        todo = stopped


def _bring_up_together(run: RunContext, target: str, stopped: Sequence[set[int]], total: Applied) -> None:
    """Bring up tables that need each other; where one stays, those that need its name wait for a refresh."""
    if len(stopped) > 1 and _bring_up(run, target, set().union(*stopped), total) is None:
        return
    for one in suspended(run.target(target).state().table_states):
        if one.suspension is not None and one.suspension.cause is Cause.NEIGHBOUR:
            wait_for_refresh(run, target, [one], one.suspension.why)


def _suspended_families(run: RunContext, target: str, ids: Collection[int] | None) -> list[set[int]]:
    states = run.target(target).state().table_states
    if ids is None:
        return families(suspended(states))
    return [one for one in families(behind(states)) if one & set(ids)]


def _needs_others(run: RunContext, target: str, ids: Collection[int]) -> bool:
    states = run.target(target).state().table_states
    known = [states[i].suspension for i in ids if i in states]
    return any(one is not None and one.cause in (Cause.FOREIGN_KEY, Cause.NEIGHBOUR) for one in known)


def _is_brought_up(run: RunContext, target: str, ids: set[int], total: Applied) -> bool:
    """Try to bring these tables up; store why it was not possible where it was not."""
    refused = _bring_up(run, target, ids, total)
    if refused is not None:
        _stay(run, target, ids, *refused)
    return refused is None


def _bring_up(run: RunContext, target: str, ids: set[int], total: Applied) -> tuple[Position, DdlReplError] | None:
    """Bring these tables up; return up to which position that was tried, and the error; None: it is done.

    The part of the log that was refused before comes first: it is what costs when it is refused again.
    """
    now = run.target(target).state()
    catch = CatchUp(ids | _new_partitions(run, now, ids), now.lsn)
    known = [s.suspension.until for i, s in now.table_states.items() if i in ids and s.suspension]
    refused_until = max(known, default=now.lsn)
    for limit in sorted({min(refused_until, now.lsn), now.lsn}):
        if not starting_points(run.target(target).state(), catch):
            break  # what came first has brought it up, or lets it wait for a refresh
        try:
            program = bring_claimed(run, target, to_the_end, total, partial(Attempt, limit, catch_up=catch))
            raise_stop(run, target, program)
        except (TargetError, CannotAdapt, ServerRefusal, ControlStop) as error:
            return limit, error
    log.info("target %s: %s caught up", target, ", ".join(str(s.name) for i, s in now.table_states.items() if i in ids))
    return None


def _new_partitions(run: RunContext, now: TargetState, ids: set[int]) -> set[int]:
    """Return the ids of partitions that suspended tables have got meanwhile, at any depth."""
    parents: dict[int, set[int]] = {}
    for table_id, revisions in run.repository.histories(run.channel.name).items():
        found = {r.table.partition.of for r in revisions if r.table is not None and r.table.partition}
        if found and table_id not in now.table_states:
            parents[table_id] = found
    new: set[int] = set()
    while more := {i for i, of in parents.items() if of & (ids | new)} - new:
        new |= more
    return new


def _stay(run: RunContext, target: str, ids: Collection[int], limit: Position, error: DdlReplError) -> None:
    now = run.target(target).state()
    late = [s for s in behind(now.table_states) if s.table_id in ids]
    log.warning("target %s: %s stay suspended: %s", target, ", ".join(str(s.name) for s in late), error)
    if isinstance(error, NameOutside):
        wait_for_refresh(run, target, late, error.message)
        return
    changed: dict[int, TableState] = {}
    for one in late:
        assert one.suspension is not None
        known = one.suspension
        why = Suspension(known.at, limit, error.code, error.message, error.hint, known.status, Cause.of(error))
        if why != known:
            changed[one.table_id] = replace(one, suspension=why)
    if changed:
        run.target(target).change_state(StateChange(states=changed), run.fence)


def wait_for_refresh(run: RunContext, target: str, tables: Sequence[TableState], why: str) -> None:
    """Let suspended tables wait for a refresh, together with the partitioned tables and partitions of their trees.

    A table that the source has no more can't be loaded: it stays at the target as it is, and may differ; no partition,
    since its rows must not show in the partitioned table any more.
    """
    now, latest = run.target(target).state(), run.repository.latest_revisions(run.channel.name)
    ids, render = family(suspended(now.table_states), [one.table_id for one in tables]), run.target(target).renderer()
    statements: list[str] = []
    after: dict[int, TableState] = {}
    records: list[Record] = []
    for one in suspended(now.table_states):
        if one.table_id not in ids or one.suspension is None:
            continue
        if one.table_id not in latest or latest[one.table_id].table is None:
            after[one.table_id], sql = _orphaned(one, now.table_states, render)
            statements += sql
            at = Position(one.suspension.at.lsn)
            records.append(RefreshDeclined(one.table_id, f"{why} ({one.suspension}); the source has dropped it", at))
            continue
        is_new = one.suspension.status is TableStatus.NEW
        state = TableStatus.NEW if is_new else TableStatus.PENDING
        after[one.table_id] = replace(one, state=state, suspension=replace(one.suspension, why=why))
        records.append(RefreshRequested(one.table_id, why, now.lsn))
    run.target(target).change_state(StateChange(statements=statements, states=after, records=records), run.fence)
    record(run, target)


def _orphaned(one: TableState, states: Mapping[int, TableState], render: Renderer) -> tuple[TableState, Sequence[str]]:
    """Return the state of a suspended table that the source has dropped, and the SQL that makes it no partition."""
    left, partition = replace(one, state=TableStatus.ORPHANED, suspension=None), one.shape.partition
    was_never_made = one.suspension is not None and one.suspension.status is TableStatus.NEW
    if partition is None or was_never_made:
        return left, ()
    parent, shape = states.get(partition.of), one.shape.with_(name=one.name)
    detach = DetachPartition(replace(partition, of_name=parent.name) if parent else partition)
    return replace(left, shape=detach.alter(shape)), render.sql(detach, shape)


def retained_from(run: RunContext, target: str, passed: Position) -> Position:
    """Return the position from which on a target needs the trail; its suspended tables need more of it.

    A table that would hold more of it than `suspended_log` allows waits for a refresh from here on.
    """
    states = run.target(target).state().table_states
    if not behind(states):
        return passed
    limit, live = run.channel.target(target).suspended_log, run.live_segments()

    def bytes_behind(one: TableState) -> int:
        since = one.suspension.at.lsn if one.suspension else passed
        return sum(row.bytes for row in live if row.high > since and row.low < passed)

    if too_far := [one for one in suspended(states) if bytes_behind(one) > limit]:
        why = f"it was suspended, and the trail holds more than {limit} bytes from its place on (suspended_log)"
        wait_for_refresh(run, target, too_far, why)
        states = run.target(target).state().table_states
    return needed_from(states, passed)
