"""This module writes what is stored of a table that could not be changed with the others of its window.

Somebody else has changed the table, in a catalog that changes one table at a time, after the run had looked. It is
suspended as it was: the log since the window's begin brings it up. A table that can't be brought up so, such as a
partition whose others have gone on, waits to be loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.program.suspend import family
from airflow_ddlrepl.engines.lake.catalog.heads import store_again
from airflow_ddlrepl.engines.lake.catalog.piecewise.publish import Otherwise
from airflow_ddlrepl.engines.lake.catalog.piecewise.steps import Step
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.target.state import (
    find_position,
    states_with_names,
    tree_states,
    write_records,
    write_table_states,
)
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.model.table_state import Suspension, TableState, TableStatus

_HINT = "what they have written is there still; the next run brings the table up from the log"


@dataclass
class _Channel:
    """What is stored of a channel with a window. tables: those that the window has changed, by their names then.

    trees: the partitioned tables and partitions.
    """

    lsn: Position
    tables: dict[TableName, TableState]
    trees: Sequence[TableState]


@dataclass
class LeftBehind(Otherwise):
    """It is about the tables of some channels in a lake. channels: under which names their states are stored."""

    location: str = field(repr=False)
    channels: Collection[str]
    _after: dict[str, _Channel] = field(default_factory=dict)

    def look(self, connection: Connection, steps: Sequence[Step]) -> None:
        names = [one.name for one in steps if one.name is not None]
        for channel in self.channels:
            at = find_position(connection, channel)
            if at is not None:
                found = {one.name: one for one in states_with_names(connection, channel, names)}
                self._after[channel] = _Channel(at.lsn, found, tree_states(connection, channel))

    def as_it_was(self, connection: Connection, step: Step) -> None:
        if step.origin is None:
            return
        store_again(connection, location_of(self.location).catalog, step.origin, step.name)
        for channel, after in self._after.items():
            before = find_position(connection, channel)
            low = after.lsn if before is None else before.lsn
            for one in states_with_names(connection, channel, [step.origin]):
                if one.shape.is_partitioned or one.shape.partition is not None:
                    self._wait(connection, channel, one, step)
                elif one.state is TableStatus.LIVE and low != after.lsn:
                    write_table_states(connection, channel, {one.table_id: _suspended(one, step, low, after.lsn)})
                else:
                    write_table_states(connection, channel, {one.table_id: one})

    def unnamed(self, connection: Connection, step: Step) -> None:
        for channel, after in self._after.items():
            if step.name is not None and step.name in after.tables:
                self._wait(connection, channel, after.tables[step.name], step)

    def _wait(self, connection: Connection, channel: str, table: TableState, step: Step) -> None:
        """Let a table wait to be loaded, together with those whose rows show in one table with its own."""
        after = self._after[channel]
        known = {one.table_id: one for one in (*after.trees, *after.tables.values())}
        status = TableStatus.NEW if step.origin is None else TableStatus.PENDING
        members = _with(known.values(), table.table_id)
        write_table_states(connection, channel, {i: replace(known[i], state=status, snapshot=None) for i in members})
        write_records(connection, channel, [RefreshRequested(i, _why(step), after.lsn) for i in members])


def _with(states: Iterable[TableState], table_id: int) -> list[int]:
    return sorted(family(states, [table_id]))


def _suspended(one: TableState, step: Step, low: Position, high: Position) -> TableState:
    at = LogKey(low, START_OF_TRANSACTION)
    why = Suspension(at, high, "TGT-117", _why(step), _HINT, one.state)
    return replace(one, state=TableStatus.SUSPENDED, suspension=why)


def _why(step: Step) -> str:
    return f"somebody else has changed {step.table} in the lake when its part of a window was about to be seen"
