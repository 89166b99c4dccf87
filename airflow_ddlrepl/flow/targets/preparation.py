"""Preparing a target sets where it begins in the log, and which of its tables wait for their rows."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.dropped_table import aside_name, dropped, makes_way
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.engines.target_state import Fence, Move, StateChange
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.mapping.abilities import require_able
from airflow_ddlrepl.flow.mapping.initial_state import as_enrolled, pending_state
from airflow_ddlrepl.flow.mapping.row_filters import require_restrictable
from airflow_ddlrepl.flow.mapping.tables import require_possible
from airflow_ddlrepl.flow.mapping.target_tables import require_old_rows
from airflow_ddlrepl.flow.mapping.value_functions import require_transformable
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.targets import server_alone
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import JOINED, RefreshRequested
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.refresh_options import BULK
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide, taken_tables


@dataclass(frozen=True)
class Beginning:
    """A beginning says where in the log a target begins, and which tables it loads.

    position: in the log. tables: those of the channel there, as the source has them. epoch: the channel's, once this is
    done. late: ids of tables that are in the stream only now. starts_over: what the target applied until now may lack
    something: every table is loaded again, and the position may be an earlier one. why: the reason of these loads.
    """

    position: Position
    tables: Sequence[Table]
    epoch: int
    late: frozenset[int] = frozenset()
    starts_over: bool = False
    why: str = JOINED

    def loads_again(self, table_state: TableState) -> bool:
        """Must a table that the target has already be loaded again?"""
        return (self.starts_over or table_state.table_id in self.late) and table_state.state is not TableStatus.NEW


def require_preparable(run: RunContext, target: str, tables: Sequence[Table]) -> None:
    """Raise unless the target can have these tables as the channel file says: Unsupported, or TargetError TGT-106."""
    at = run.channel.at(target)
    require_able(at, tables, run.target(target))
    require_old_rows(at, tables)
    require_possible(at, tables)
    require_restrictable(at, tables, run.source.catalog.check_condition)
    require_transformable(at, tables)
    _require_elsewhere(run, target, tables)


def _require_elsewhere(run: RunContext, target: str, tables: Sequence[Table]) -> None:
    """Raise TargetError TGT-106 where the target's table would be one of the source's."""
    if run.target(target).database() != run.source.database():
        return
    names, at = {table.name for table in tables}, run.channel.at(target)
    for table in taken_tables(at, tables):
        at_target = at.target_name(table.name)
        if at_target in names:
            raise TargetError(
                f"target {target} is the source's database, and {at_target} is a table of the source there",
                code="TGT-106",
                table=table.name,
                hint="correct the target's location, or send its tables into schemas of their own (`schemas`)",
            )


def prepare_target(run: RunContext, target: str, begins: Beginning) -> int:
    """Make every table that is new to the target, or that lost its log, wait for a refresh there; return how many.

    A target that has no position gets it together with its tables: a run that is killed leaves both or neither.
    """
    channel, place = run.channel.name, run.target(target)
    place.prepare(run.token)
    before = place.find_state()
    if before is None:
        run.repository.forget_target(channel, run.token, target)
    else:
        claim(run, target, min(before.epoch, begins.epoch))
        before = place.state()
        begins = replace(begins, starts_over=begins.starts_over or before.epoch != begins.epoch)
    known = before.table_states if before else {}
    pending = _pending_tables(run, target, begins, known)
    orphaned, removed = _dropped_tables(run, target, begins, known)
    aside = _out_of_the_way(run, target, begins, pending)
    to = begins.position if before is None or begins.starts_over else before.lsn
    change = StateChange(
        Move(to, before, restarts=before is not None and before.epoch != begins.epoch),
        (*orphaned.sql, *removed.sql, *aside.sql),
        {**pending, **orphaned.table_states, **aside.table_states},
        removed.table_states.keys(),
        [RefreshRequested(i, begins.why, begins.position, how=str(BULK)) for i in pending],
    )
    place.change_state(change, Fence(begins.epoch, run.token))
    reach("activate.target")
    record(run, target)
    return len(pending)


def _pending_tables(
    run: RunContext, target: str, begins: Beginning, known: Mapping[int, TableState]
) -> dict[int, TableState]:
    """Return the tables that wait for a refresh, by id. known: those that the target has already."""
    present, client = run.target(target).facts(), client_at(run.channel.at(target))
    history = run.repository.histories(run.channel.name)
    pending: dict[int, TableState] = {}
    for table in begins.tables:
        table_state = known.get(table.id)
        if table_state is not None:
            if begins.loads_again(table_state):
                pending[table.id] = replace(table_state, state=TableStatus.PENDING, snapshot=None)
        elif decide(client, table.name, ChangeKind.TABLE).is_taken:
            as_known = as_enrolled(run.channel, table, history.get(table.id, ()))
            pending[table.id] = pending_state(run.channel.at(target), as_known, present)
    if begins.starts_over:
        pending |= _dropped_later(run, known, {table.id for table in begins.tables})
    return pending


def _dropped_later(run: RunContext, known: Mapping[int, TableState], there: Container[int]) -> dict[int, TableState]:
    """Return tables that the source dropped in log that the target has not applied yet; they wait until it has.

    there: ids of the tables that the source has.
    """
    latest = run.repository.latest_revisions(run.channel.name)
    gone = (i for i in known if i not in there and i in latest and latest[i].table is not None)
    live = {i: known[i] for i in gone if known[i].state is TableStatus.LIVE}
    for table_state in live.values():
        log.warning("%s was dropped at the source: its last rows are not known any more", table_state.name)
    return {i: replace(table_state, state=TableStatus.PENDING, snapshot=None) for i, table_state in live.items()}


def _out_of_the_way(run: RunContext, target: str, begins: Beginning, pending: Mapping[int, TableState]) -> _Moved:
    """Rename tables whose name another table has by now, because the log that shows it is skipped.

    They wait under a name of their own until a refresh gives them theirs.
    """
    found, render = _Moved(), run.target(target).renderer()
    owners = {run.channel.at(target).target_name(table.name): table.id for table in begins.tables}
    for table_id, table_state in pending.items():
        if table_state.state is TableStatus.PENDING and owners.get(table_state.name, table_id) != table_id:
            shape = table_state.shape.with_(name=table_state.name)
            away = shape.with_(name=aside_name(shape))
            found.sql += makes_way(shape, "another table has its name", render).sql
            found.table_states[table_id] = replace(table_state, name=away.name, shape=away)
    return found


@dataclass
class _Moved:
    """These tables change at the target besides a load, by id; with the SQL that this needs there."""

    table_states: dict[int, TableState] = field(default_factory=dict)
    sql: list[str] = field(default_factory=list)


def _dropped_tables(
    run: RunContext, target: str, begins: Beginning, known: Mapping[int, TableState]
) -> tuple[_Moved, _Moved]:
    """Return the tables of a target that starts over which were dropped at the source in the log that it skips.

    As on_drop_table says, they stay and are orphaned, or are removed; what is of another repository is only forgotten.
    """
    orphaned, removed = _Moved(), _Moved()
    latest, there = run.repository.latest_revisions(run.channel.name), {table.id for table in begins.tables}
    for table_id, table_state in known.items() if begins.starts_over else ():
        revision = latest.get(table_id)
        if (
            table_id in there
            or table_state.state is TableStatus.ORPHANED
            or (revision is not None and revision.table is not None)
        ):
            continue
        if revision is None or table_state.state is TableStatus.NEW:
            removed.table_states[table_id] = table_state
            continue
        plan = _dropped(run, target, table_state)
        log.warning("%s was dropped at the source meanwhile: %s", table_state.name, "; ".join(plan.hazards))
        found = removed if plan.is_removed else orphaned
        found.table_states[table_id] = replace(
            table_state, state=TableStatus.ORPHANED, shape=plan.shape or table_state.shape
        )
        found.sql += [text for step in plan.steps for text in step.sql]
    return orphaned, removed


def _dropped(run: RunContext, target: str, table_state: TableState) -> TablePlan:
    place = run.target(target)
    present = place.facts()
    histories = run.repository.histories(run.channel.name)
    name = next(one.table.name for one in reversed(histories[table_state.table_id]) if one.table is not None)
    facts = TargetFacts(server_alone(present), table_state.name)
    policy = policy_at(run.channel.at(target), name)
    old = table_state.shape
    return dropped(ChangeAtTarget(old, None, place.renderer(), facts, policy=policy), old)
