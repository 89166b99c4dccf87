"""A draft holds what a program has so far: the tables as they are by then, slices of rows, and steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.adapt.program.program import Discarded, Program, ProgramStep, Slice
from airflow_ddlrepl.adapt.program.suspend import CatchUp
from airflow_ddlrepl.adapt.program.table_states import TableStates
from airflow_ddlrepl.model.change import Event, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.row_limit import RowLimit
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

ShapeAt = Callable[[int, LogKey], "Table | None"]
Read = Callable[["Table", "TableState"], "Table"]


def whole(table: Table, table_state: TableState) -> Table:
    """Read every column of the source's table."""
    return table


@dataclass
class Draft:
    """A draft is a program that is being built. states: of the target's tables. since: where each open slice begins.

    shape_at, client, read: see `builder.ProgramBuilder`. ends_as: see `Program`.
    """

    shape_at: ShapeAt
    client: Client
    read: Read
    states: TableStates
    since: dict[int, LogKey]
    slices: list[Slice] = field(default_factory=list)
    steps: list[ProgramStep] = field(default_factory=list)
    discarded: list[Discarded] = field(default_factory=list)
    ends_as: dict[int, TableState] = field(default_factory=dict)

    @property
    def table_ids(self) -> set[int]:
        """Return the ids of the target's tables that are the channel's: not those whose source was dropped."""
        return {i for i, table_state in self.states.items() if table_state.state is not TableStatus.ORPHANED}

    def add(self, step: ProgramStep) -> None:
        """Append a step; its table is from there on as the step leaves it."""
        self.steps.append(step)
        if step.after is None:
            self.states.pop(step.table_id, None)
        else:
            self.states[step.table_id] = step.after

    def change(self, event: Event, after: TableState, limit: RowLimit | None = None) -> None:
        """Append a step that only changes a table's state; the rows before it go before it. limit: as in the step."""
        self.close(after.table_id, event.key)
        self.add(ProgramStep(event, after.table_id, None, self.states[after.table_id], after, limit))

    def suspend(self, after: TableState, at: LogKey) -> None:
        """Suspend a table at a place in the log."""
        self.close(after.table_id, at)
        self.states[after.table_id] = self.ends_as[after.table_id] = after

    def discard(self, event: Event, table_id: int, name: TableName, why: str) -> None:
        """Note that the target does not take a TRUNCATE of a table, and why."""
        self.discarded.append(Discarded(table_id, ChangeKind.DDL, name, event.key, event.key, why))

    def leave_out(self, event: Event, table_ids: Collection[int]) -> None:
        """Note of rows that were not captured that these tables don't have them."""
        for table_id, name in event.dropped:
            if table_id in table_ids:
                place = (table_id, ChangeKind.DML, name, event.key, event.key)
                self.discarded.append(Discarded(*place, why_ignored(event), is_captured=False))

    def cut(self, table_id: int, key: LogKey) -> None:
        """Start a new slice of the table's rows where the source's shape changes though the target's stays."""
        since = self.since.get(table_id)
        if since is not None and self.shape_at(table_id, since) != self.shape_at(table_id, key):
            self.close(table_id, key)

    def close(self, table_id: int, high: LogKey) -> None:
        """End the open slice of a table's rows."""
        table_state = self.states[table_id]
        low = self.since.get(table_id, high)
        if table_state.state is TableStatus.LIVE and low < high and not table_state.shape.is_partitioned:
            known = self.shape_at(table_id, low)
            source = self.read(known, table_state) if known else table_state.shape
            why = "" if self.client.takes_everything else decide(self.client, source.name, ChangeKind.DML).why
            if why:
                self.discarded.append(Discarded(table_id, ChangeKind.DML, source.name, low, high, why))
            else:
                self.slices.append(_slice(table_state, low, high, source, known))
        self.since[table_id] = max(low, high)

    def program(
        self, before: Mapping[int, TableState], low: Position, high: Position, catch_up: CatchUp | None
    ) -> Program:
        """Return the finished program; its slices end before `high`. before: the target's tables before it."""
        end = LogKey(high, START_OF_TRANSACTION)
        for table_id in [i for i in self.states if self.since.get(i, end) < end]:
            self.close(table_id, end)
        ends = {i: self.states[i] for i in self.ends_as if i in self.states}
        if catch_up is not None:
            own = {i: s for i, s in self.states.items() if i in catch_up.only or i not in before}
            ends = {i: catch_up.ended(before, s, high) for i, s in own.items()}
        found = (tuple(self.slices), tuple(self.steps), self.states | ends)
        program = Program(low, high, *found, discarded=tuple(self.discarded), ends_as=ends)
        if catch_up is None:
            return program
        return replace(program, stays_at=catch_up.to, suspension=catch_up.suspension(before))


def _slice(table_state: TableState, low: LogKey, high: LogKey, source: Table, whole: Table | None) -> Slice:
    """Return the slice of a table's rows in [low, high). source: their shape, as it is read; whole: all of it."""
    settings, partial = table_state.settings, table_state.partial
    differs = settings is not NO_SETTINGS and (settings.leaves_out_changes or settings.columns.discards)
    is_loaded = partial is not None and partial.until is not None and low.lsn < partial.until
    return Slice(
        table_state.table_id,
        low,
        high,
        source,
        table_state.shape,
        table_state.name,
        whole,
        settings,
        is_resilient=is_loaded or differs,
        is_loaded=is_loaded,
    )
