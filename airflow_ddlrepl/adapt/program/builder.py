"""Build a target's program from the rows and schema changes of a window; the builder decides, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.adapt.plan.dropped_table import aside_name
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.program.program import Discarded, Program, ProgramStep, Slice
from airflow_ddlrepl.config.sections.table_mapping import condition_in, values_in
from airflow_ddlrepl.ddl.sql.respell import moves, respelled
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.rules.client import Client
from airflow_ddlrepl.rules.decide import ChangeKind, decide

Planner = Callable[["TableState | None", "Table | None", Event, Mapping[int, "TableState"]], TablePlan]
ShapeAt = Callable[[int, LogKey], "Table | None"]
Read = Callable[["Table", "TableState"], "Table"]


def whole(table: Table, table_state: TableState) -> Table:
    """Read every column of the source's table."""
    return table


@dataclass
class ProgramBuilder:
    """A builder makes the program of one target. plan: decides one table's schema change. shape_at: its revision.

    enrolled: ids of the tables that are, or ever were, in the channel. client: the target.
    read: which part of a source's table is read for the target's. is_refreshed: tables that wait are loaded from the
    source. positions: by id, of tables to which more of the log is applied than the target's position says.
    """

    plan: Planner
    shape_at: ShapeAt
    enrolled: Container[int]
    client: Client = field(default_factory=Client)
    read: Read = whole
    is_refreshed: bool = True
    positions: Mapping[int, LogKey] = field(default_factory=dict)
    _states: dict[int, TableState] = field(default_factory=dict)
    _since: dict[int, LogKey] = field(default_factory=dict)
    _slices: list[Slice] = field(default_factory=list)
    _steps: list[ProgramStep] = field(default_factory=list)
    _discarded: list[Discarded] = field(default_factory=list)

    def build(
        self, table_states: Mapping[int, TableState], events: Iterable[Event], low: Position, high: Position
    ) -> Program:
        """Return the program for low <= position < high.

        It ends earlier, at a transaction's start, when a plan stops.
        """
        self._states = dict(table_states)
        start = LogKey(low, START_OF_TRANSACTION)
        self._since = {table_id: max(start, self.positions.get(table_id, start)) for table_id in table_states}
        self._slices, self._steps, self._discarded = [], [], []
        for event in events:
            if event.key.lsn < low or event.end > high:
                continue
            stop = self._visit(event)
            if stop is not None:
                program = self.build(table_states, _before(events, event), low, Position(event.key.lsn))
                return replace(program, stop=stop)
        for table_id in list(self._states):
            self._close(table_id, LogKey(high, START_OF_TRANSACTION))
        found = (tuple(self._slices), tuple(self._steps), dict(self._states))
        return Program(low, high, *found, discarded=tuple(self._discarded))

    def _visit(self, event: Event) -> TablePlan | None:
        if event.kind in (EventKind.TRUNCATE, EventKind.NO_TRUNCATE):
            for table_id, name in event.dropped:
                if not self._is_applied(event, table_id):
                    self._truncate(event, table_id, name)
        elif event.kind is EventKind.RELATION and event.layout:
            self._suspend(event, event.layout)
        elif event.kind in (EventKind.DDL, EventKind.PROPERTIES):
            for table_id, _ in event.dropped:
                if not self._is_applied(event, table_id) and (stop := self._change(event, table_id, None)):
                    return stop
            for table in event.tables:
                if self._is_applied(event, table.id):
                    continue
                enrolled = self.shape_at(table.id, event.key)  # not always what the statement saw
                shape = table if enrolled == table else enrolled  # equal ones differ in storage: a rewrite shows in it
                if shape is not None and (stop := self._change(event, table.id, shape)):
                    return stop
        return None

    def _is_applied(self, event: Event, table_id: int) -> bool:
        """Did the target apply this event to the table already?"""
        return table_id in self.positions and event.key < self.positions[table_id]

    def _truncate(self, event: Event, table_id: int, name: TableName) -> None:
        table_state = self._states.get(table_id)
        if (
            table_state is None
            or table_state.state is not TableStatus.LIVE
            or table_state.has(event.key.lsn, event.xid)
        ):
            return
        if why := decide(self.client, name, ChangeKind.DDL).why:
            self._discarded.append(Discarded(table_id, ChangeKind.DDL, name, event.key, event.key, why))
            return
        self._close(table_id, event.key)
        self._steps.append(ProgramStep(event, table_id, None, table_state, table_state))

    def _suspend(self, event: Event, layout: Mapping[str, Any]) -> None:
        """Let a table wait for a refresh whose rows no shape explains, unless a refresh has seen the last of them."""
        table_id = int(layout["table_id"])
        table_state = self._states.get(table_id)
        if table_state is None or table_state.state is not TableStatus.LIVE or self._is_applied(event, table_id):
            return
        if table_state.has(int(layout.get("until", event.key.lsn)), event.xid):
            self._cut(table_id, event.key)
            return
        self._close(table_id, event.key)
        after = replace(table_state, state=TableStatus.PENDING)
        self._steps.append(ProgramStep(event, table_id, None, table_state, after))
        self._states[table_id] = after

    def _change(self, event: Event, table_id: int, new: Table | None) -> TablePlan | None:
        before = self._states.get(table_id)
        if before is None or before.state is TableStatus.ORPHANED:
            if new is None or new.id not in self.enrolled:
                return None
            before = None
        elif before.has(event.key.lsn, event.xid):
            self._cut(table_id, event.key)
            return None
        plan = self.plan(before, new, event, self._states)
        if before is not None and before.state is TableStatus.NEW:
            self._follow(event, before, plan)
            return None
        if plan.stops:
            return plan
        if not plan.changes_anything and before is not None:
            self._cut(table_id, event.key)
            if plan.properties != before.properties:
                self._add(ProgramStep(event, table_id, None, before, replace(before, properties=plan.properties)))
            return None
        if before is None and plan.shape is not None and self._joins_later(event, new):
            joins = TableState(table_id, plan.target, plan.shape, TableStatus.NEW, properties=plan.properties)
            self._add(ProgramStep(event, table_id, None, None, joins))
            return None
        if table_id in self._states:
            self._close(table_id, event.key)
        after = _after(before, plan, table_id)
        self._add(ProgramStep(event, table_id, plan, before, after))
        if after is not None and after.state is not TableStatus.ORPHANED:
            self._respell_users(event, after.shape.types)
            for orphan in self._orphaned(after.name):
                self._add(ProgramStep(event, orphan.table_id, None, orphan, None))
            self._step_aside(event, after)
        self._since[table_id] = event.key
        return None

    def _joins_later(self, event: Event, new: Table | None) -> bool:
        """Is the table a new partition of one that the target does not have yet, or has from a later refresh?"""
        parent = self._states.get(new.partition.of) if new and new.partition and self.is_refreshed else None
        return parent is not None and (parent.state is not TableStatus.LIVE or parent.has(event.key.lsn, event.xid))

    def _respell_users(self, event: Event, types: Sequence[TypeDefinition]) -> None:
        """Change a type in the shapes of the other tables that use it, whose own record of the change was lost.

        Their rows before it go before it; from here on the type is called as it is now.
        """
        now, in_event = {t.oid: t for t in types}, {table.id for table in event.tables}
        for other in list(self._states.values()):
            changed = [t for t in other.shape.types if now.get(t.oid, t) != t]
            if changed and other.table_id not in in_event and other.state in (TableStatus.LIVE, TableStatus.PENDING):
                self._close(other.table_id, event.key)
                shape = respelled(other.shape, moves(other.shape.types, types))
                self._add(ProgramStep(event, other.table_id, None, other, replace(other, shape=shape)))

    def _follow(self, event: Event, before: TableState, plan: TablePlan) -> None:
        """Record the new name of a table that was never loaded, or that it is gone; nothing else matters until then."""
        gone = plan.is_removed or plan.is_orphaned
        shape = plan.shape or before.shape
        after = None if gone else replace(before, name=plan.target, shape=shape, properties=plan.properties)
        self._add(ProgramStep(event, before.table_id, None, before, after))

    def _orphaned(self, name: TableName) -> list[TableState]:
        """Return the orphaned tables whose name a live table gets: it is that table, or the orphan was renamed."""
        return [s for s in self._states.values() if s.state is TableStatus.ORPHANED and s.name == name]

    def _step_aside(self, event: Event, now: TableState) -> None:
        """Rename a table whose name another one takes: its new name at the source is in the log later."""
        for other in list(self._states.values()):
            if other.name == now.name and other.table_id != now.table_id and other.state is not TableStatus.ORPHANED:
                self._close(other.table_id, event.key)
                aside = aside_name(other.shape)
                shape = other.shape.with_(name=aside)
                self._add(ProgramStep(event, other.table_id, None, other, replace(other, name=aside, shape=shape)))

    def _add(self, step: ProgramStep) -> None:
        self._steps.append(step)
        if step.after is None:
            self._states.pop(step.table_id, None)
        else:
            self._states[step.table_id] = step.after

    def _cut(self, table_id: int, key: LogKey) -> None:
        """Start a new slice of the table's rows where the source's shape changes though the target's stays."""
        since = self._since.get(table_id)
        if since is not None and self.shape_at(table_id, since) != self.shape_at(table_id, key):
            self._close(table_id, key)

    def _close(self, table_id: int, high: LogKey) -> None:
        table_state = self._states[table_id]
        low = self._since.get(table_id, high)
        if table_state.state is TableStatus.LIVE and low < high and not table_state.shape.is_partitioned:
            known = self.shape_at(table_id, low)
            source = self.read(known, table_state) if known else table_state.shape
            why = "" if self.client.takes_everything else decide(self.client, source.name, ChangeKind.DML).why
            if why:
                self._discarded.append(Discarded(table_id, ChangeKind.DML, source.name, low, high, why))
            else:
                restricted = condition_in(table_state.properties), known, values_in(table_state.properties)
                self._slices.append(
                    Slice(table_id, low, high, source, table_state.shape, table_state.name, *restricted)
                )
        self._since[table_id] = max(low, high)


def _after(before: TableState | None, plan: TablePlan, table_id: int) -> TableState | None:
    """Return the state of the table at the target after a plan; None: the table is no longer the channel's."""
    if plan.is_removed or plan.shape is None:
        return None
    if plan.is_orphaned:
        return TableState(table_id, plan.target, plan.shape, TableStatus.ORPHANED)
    state, shape = TableStatus.LIVE, plan.shape
    if plan.needs_refresh:
        state, shape = TableStatus.PENDING, plan.until_refresh or shape
    return TableState(table_id, plan.target, shape, state, before.snapshot if before else None, plan.properties)


def _before(events: Iterable[Event], stop: Event) -> Sequence[Event]:
    return [event for event in events if event is not stop and event.end <= stop.key.lsn]
