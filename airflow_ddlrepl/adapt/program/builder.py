"""Build a target's program from the rows and schema changes of a window; the builder decides, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.draft import Draft, Read, ShapeAt, whole
from airflow_ddlrepl.adapt.program.neighbours import change_neighbours, orphan_of
from airflow_ddlrepl.adapt.program.plan_memo import PlanMemo
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep
from airflow_ddlrepl.adapt.program.suspend import CatchUp, Suspensions, family
from airflow_ddlrepl.adapt.program.table_states import TableStates
from airflow_ddlrepl.model.change import IS_UNNAMED, Event, EventKind, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.settings.row_kind import IGNORED, RowKind
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import PartialRefresh, TableState, TableStatus
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.notation.condition.row_limit import RowLimit, row_limit
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide


class Planner(Protocol):
    """A planner decides what one table's change needs at the target."""

    def __call__(
        self,
        before: TableState | None,
        new: Table | None,
        event: Event,
        table_states: Mapping[int, TableState],
        reload: str = "",
    ) -> TablePlan:
        """Return the plan. reload: why the table is loaded again although its shape is as it was; empty: it is not."""
        ...


Reloads = Callable[[Event, int, Mapping[int, TableState]], str]
"""Returns why the partitioned table of a partition that an event is about is loaded again; empty: it is not."""


def _never(event: Event, table_id: int, table_states: Mapping[int, TableState]) -> str:
    return ""


def _never_alone(event: Event) -> bool:
    return False


PassedOver = Callable[[Event, TablePlan], "Event | None"]
"""Returns an event whose plan is refused as one that the target discards; None: the refusal counts."""


def _never_passed(event: Event, stop: TablePlan) -> Event | None:
    return None


@dataclass
class ProgramBuilder:
    """A builder makes the program of one target. plan: decides one table's schema change. shape_at: its revision.

    enrolled: ids of the tables that are, or ever were, in the channel. client: the target. read: which part of a
    source's table is read for the target's. is_refreshed: tables that wait are loaded from the source. positions: by
    id, of tables to which more of the log is applied than the target's position says. suspensions: tables that the
    program suspends. catch_up: which suspended tables it is about; None: about the others. reloads: after which
    statements a partitioned table is loaded again. passed_over: which refused changes are left out. runs_alone: does a
    statement run at the target although no table of it is there? runs_without_table: does one that is about no table?
    """

    plan: Planner
    shape_at: ShapeAt
    enrolled: Container[int]
    client: Client = field(default_factory=Client)
    read: Read = whole
    is_refreshed: bool = True
    positions: Mapping[int, LogKey] = field(default_factory=dict)
    suspensions: Suspensions = field(default_factory=Suspensions)
    catch_up: CatchUp | None = None
    reloads: Reloads = _never
    passed_over: PassedOver = _never_passed
    runs_alone: Callable[[Event], bool] = _never_alone
    runs_without_table: Callable[[Event], bool] = _never_alone
    _draft: Draft = field(init=False)
    _stopped_at: int = 0
    memo: PlanMemo = field(default_factory=PlanMemo, init=False)

    def build(
        self, table_states: Mapping[int, TableState], events: Iterable[Event], low: Position, high: Position
    ) -> Program:
        """Return the program for low <= position < high; it ends earlier, at a transaction's start, if a plan stops."""
        start, end = LogKey(low, START_OF_TRANSACTION), LogKey(high, START_OF_TRANSACTION)
        events = [event for event in events if event.key.lsn >= low and event.end <= high]
        while (stopped := self._visit_all(table_states, events, start, end)) is not None:
            event, stop = stopped
            if (marked := self.passed_over(event, stop)) is not None:
                events = [marked if one is event else one for one in events]
            elif not self._is_to_suspend(stop, event):
                place = (self._stopped_at, event.key)
                before = self.build(table_states, _before(events, event), low, event.begin)
                return replace(before, stop=stop, stop_at=place)
        self._suspend_due(LogKey.last_before(high))
        return self._draft.program(table_states, low, high, self.catch_up)

    def _visit_all(
        self, table_states: Mapping[int, TableState], events: Iterable[Event], start: LogKey, end: LogKey
    ) -> tuple[Event, TablePlan] | None:
        """Draft the program of these events from the beginning; return the first one whose plan stops, with it."""
        self._draft = _new_draft(self, table_states, start, end)
        for event in events:
            self._suspend_due(event.key)
            if (stop := self._visit(event)) is not None:
                return event, stop
        return None

    def is_about(self, table_id: int) -> bool:
        """Is the program about this table, and not only about others?"""
        return self.catch_up is None or table_id in self.catch_up.only

    def _suspend_due(self, before: LogKey) -> None:
        """Suspend the tables that are to be suspended before a place in the log, and those that belong to them."""
        for after in self.suspensions.due(self._draft.states, before):
            if after.suspension is not None and after.table_id not in self._draft.ends_as:  # each once
                self._draft.suspend(after, after.suspension.at)

    def _is_to_suspend(self, stop: TablePlan, event: Event) -> bool:
        """Note the table of a refused change as one to suspend; False: the change stops the target."""
        refusal, table_id = stop.refusal(), self._stopped_at
        if not self.suspensions.is_on or refusal is None or table_id in self.suspensions or table_id == NO_TABLE:
            return False
        self.suspensions.add(table_id, refusal, event.key, event.end)
        return True

    def _visit(self, event: Event) -> TablePlan | None:
        if event.kind in (EventKind.TRUNCATE, EventKind.NO_TRUNCATE):
            for table_id, name in event.dropped:
                table_state = self._live(event, table_id)
                if table_state and (stop := self._truncate(event, table_state, name)):
                    return stop
        elif event.kind is EventKind.IGNORED:
            self._draft.leave_out(event, [i for i, _ in event.dropped if self._live(event, i)])
        elif event.kind is EventKind.RELATION and event.layout:
            return _await_reload(self, event, event.layout)
        elif event.kind in (EventKind.DDL, EventKind.PROPERTIES):
            for table_id, _ in event.dropped:
                if not self._is_applied(event, table_id) and (stop := self._change(event, table_id, None)):
                    return stop
            for table in event.tables:
                if self._is_applied(event, table.id):
                    continue
                enrolled = self.shape_at(table.id, event.key)  # not always what the statement saw
                shape = table if enrolled == table else enrolled  # equal ones differ in storage: a rewrite shows in it
                if (shape is not None or table.id in self._draft.table_ids) and (
                    stop := self._change(event, table.id, shape)
                ):
                    return stop
                why = self.reloads(event, table.id, self._draft.states)
                if why and (stop := self._reload_tree(event, table.id, why)):
                    return stop
            if event.kind is EventKind.DDL and self.catch_up is None and self.runs_without_table(event):
                return _run_without_table(self, event)
        return None

    def _live(self, event: Event, table_id: int) -> TableState | None:
        """Return the table's state if it is live, and the event is applied to it neither by a refresh nor otherwise."""
        known = self._draft.states.get(table_id)
        is_news = known and not self._is_applied(event, table_id) and not known.has(event.key.lsn, event.transaction_id)
        return known if known and is_news and known.state is TableStatus.LIVE else None

    def _is_applied(self, event: Event, table_id: int) -> bool:
        """Did the target apply this event to the table already, or is the program not about the table?"""
        return not self.is_about(table_id) or event.key < self.positions.get(table_id, event.key)

    def _truncate(self, event: Event, table_state: TableState, name: TableName) -> TablePlan | None:
        table_id = table_state.table_id
        if why := why_ignored(event) or decide(self.client, name, ChangeKind.DDL).why or _why_kept(table_state):
            self._draft.discard(event, table_id, name, why)
        elif why := self.reloads(event, table_id, self._draft.states):
            return self._reload_tree(event, table_id, why)
        else:
            self._draft.change(event, table_state, _limit(table_state, self.shape_at(table_id, event.key)))
        return None

    def _reload_tree(self, event: Event, table_id: int, why: str) -> TablePlan | None:
        """Let all live partitions of a partition's table be loaded again; return the plan that stops the target."""
        for each in sorted(family(self._draft.states.values(), [table_id])):
            known, shape = self._live(event, each), self.shape_at(each, event.key)
            is_leaf = known is not None and shape is not None and not shape.is_partitioned
            if is_leaf and (stop := self._change(event, each, shape, why)):
                return stop
        return None

    def _change(self, event: Event, table_id: int, new: Table | None, reload: str = "") -> TablePlan | None:
        before = self._draft.states.get(table_id)
        if before is None or before.state is TableStatus.ORPHANED:
            if (new is None and not self.runs_alone(event)) or table_id not in self.enrolled:
                return None
            before = None
        elif before.has(event.key.lsn, event.transaction_id):
            self._draft.cut(table_id, event.key)
            return None
        if self._waits_for_catch_up(event, before, new):
            return None
        plan = self.memo.planned(self.plan, (before, new, event), self._draft.states, reload)
        if before is not None and before.state is TableStatus.NEW:
            self._draft.add(_followed(event, before, plan))
            return None
        if before is None and new is not None and (why := self.suspensions.refusal(table_id, plan, event)):
            joins = TableState(table_id, plan.target, plan.shape or new, TableStatus.NEW, suspension=why)
            self._draft.add(ProgramStep(event, table_id, None, None, joins))
            return None
        if plan.stops:
            self._stopped_at = table_id
            if self.catch_up is not None and before is not None:
                self.catch_up.require_free(plan.target, before, self._draft.states)
            return plan
        if not plan.changes_anything and before is not None:
            self._draft.cut(table_id, event.key)
            if plan.settings != before.settings:
                self._draft.add(ProgramStep(event, table_id, None, before, replace(before, settings=plan.settings)))
            return None
        joins_later = self.is_refreshed and _joins_later(event, new, self._draft.states)
        if before is None and plan.shape is not None and joins_later:
            joins = TableState(table_id, plan.target, plan.shape, TableStatus.NEW, settings=plan.settings)
            self._draft.add(ProgramStep(event, table_id, None, None, joins))
            return None
        if table_id in self._draft.states:
            self._draft.close(table_id, event.key)
        after = _after(before, plan, table_id)
        self._draft.add(ProgramStep(event, table_id, plan, before, after))
        if plan.orphan is not None:
            left = orphan_of(plan.orphan, self._draft.states)
            self._draft.add(ProgramStep(event, left.table_id, None, None, left))
        if after is not None and after.state is not TableStatus.ORPHANED:
            change_neighbours(self._draft, event, after, self.catch_up)
        self._draft.since[table_id] = event.key
        return None

    def _waits_for_catch_up(self, event: Event, before: TableState | None, new: Table | None) -> bool:
        """Is the change one of a suspended table, or of a partition of one? The catch-up makes it.

        A table that is dropped at the source need not be caught up first, unless it is one of a partitioned table.
        """
        if before is not None and before.state is TableStatus.SUSPENDED:
            alone = before.shape.partition is None and not before.shape.is_partitioned
            return new is not None or not alone or not self.plan(before, None, event, self._draft.states).drops_table
        parent = self._draft.states.get(new.partition.of) if new is not None and new.partition else None
        if parent is None or parent.state is not TableStatus.SUSPENDED or parent.suspension is None:
            return False
        if before is not None:
            joined = replace(parent.suspension, at=event.key, status=before.state)
            self._draft.suspend(replace(before, state=TableStatus.SUSPENDED, suspension=joined), event.key)
        return True


def _run_without_table(by: ProgramBuilder, event: Event) -> TablePlan | None:
    """Draft the run of a statement that is about no table of the channel; return its plan if it stops."""
    plan = by.memo.planned(by.plan, (None, None, event), by._draft.states, "")
    if plan.stops:
        by._stopped_at = NO_TABLE
        return plan
    by._draft.add(ProgramStep(event, NO_TABLE, plan, None, None))
    return None


def _await_reload(by: ProgramBuilder, event: Event, layout: Mapping[str, Any]) -> TablePlan | None:
    """Let a table wait for a refresh whose rows no shape explains, unless a refresh has seen the last of them.

    Where its rows may be those of ignored sessions, a person decides: return the plan that says so.
    """
    table_id = int(layout["table_id"])
    table_state = by._draft.states.get(table_id)
    if table_state is None or table_state.state is not TableStatus.LIVE or by._is_applied(event, table_id):
        return None
    if table_state.has(int(layout.get("until", event.key.lsn)), event.transaction_id):
        by._draft.cut(table_id, event.key)
        return None
    if IS_UNNAMED in layout and by.is_refreshed:
        by._stopped_at = table_id
        return _of_unnamed(table_state)
    by._draft.change(event, replace(table_state, state=TableStatus.PENDING))
    return None


def _of_unnamed(table_state: TableState) -> TablePlan:
    """Return the refused plan of a table whose rows may be those of sessions that are to be ignored."""
    refused = Step(
        StepKind.REFUSE,
        "changes of ignored sessions may be among its changes: the trigger at the source that names them was switched"
        " off, dropped or changed",
        code="ADP-181",
        hint="nobody can tell which they are",
    )
    name, shape = table_state.shape.name, table_state.shape
    return TablePlan(name, table_state.name, (), (), (refused,), (), shape)


def _new_draft(by: ProgramBuilder, table_states: Mapping[int, TableState], start: LogKey, end: LogKey) -> Draft:
    by.memo.begin(len(by.suspensions.found) + len(by.suspensions.not_created))
    states = TableStates(by.catch_up.resumed(table_states) if by.catch_up else table_states)
    since = {i: max(start, by.positions.get(i, start)) if by.is_about(i) else end for i in states}
    return Draft(by.shape_at, by.client, by.read, states, since)


def _joins_later(event: Event, new: Table | None, states: Mapping[int, TableState]) -> bool:
    """Is the table a new partition of one that the target does not have yet, or has from a later refresh?"""
    parent = states.get(new.partition.of) if new and new.partition else None
    return parent is not None and (
        parent.state is not TableStatus.LIVE or parent.has(event.key.lsn, event.transaction_id)
    )


def _why_kept(table_state: TableState) -> str:
    """Return why a TRUNCATE leaves the rows of the target's table; empty: it empties it."""
    return IGNORED.format(RowKind.TRUNCATE) if RowKind.TRUNCATE in table_state.settings.rows.ignore else ""


def _followed(event: Event, before: TableState, plan: TablePlan) -> ProgramStep:
    """Return the step for a table that was never loaded: its new name, or that it is gone; nothing else matters yet."""
    gone = plan.is_removed or plan.is_orphaned
    shape = plan.shape or before.shape
    after = None if gone else replace(before, name=plan.target, shape=shape, settings=plan.settings)
    return ProgramStep(event, before.table_id, None, before, after)


def _after(before: TableState | None, plan: TablePlan, table_id: int) -> TableState | None:
    """Return the state of the table at the target after a plan; None: the table is no longer the channel's."""
    if plan.is_removed or plan.shape is None:
        return None
    if plan.is_orphaned:
        return TableState(table_id, plan.target, plan.shape, TableStatus.ORPHANED)
    state, shape = TableStatus.LIVE, plan.shape
    if plan.needs_refresh:
        state, shape = TableStatus.PENDING, plan.until_refresh or shape
    if plan.is_made_anew:
        return TableState(table_id, plan.target, shape, state, settings=plan.settings)
    partial = PartialRefresh(plan.refreshed_rows) if plan.refreshed_rows else before.partial if before else None
    snapshot = before.snapshot if before else None
    return TableState(table_id, plan.target, shape, state, snapshot, plan.settings, partial=partial)


def _limit(table_state: TableState, source: Table | None) -> RowLimit | None:
    """Return which rows of the target's table a TRUNCATE is about; None: all. source: the table there, at its place."""
    text = table_state.settings.rows.refresh
    return row_limit(condition(text), source, table_state.shape) if text and source else None


def _before(events: Iterable[Event], stop: Event) -> Sequence[Event]:
    return [event for event in events if event is not stop and event.end <= stop.key.lsn]
