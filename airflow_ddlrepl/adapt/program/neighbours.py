"""A change of one table may change others at the target: their names, and the types that they share with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.dropped_table import aside_name
from airflow_ddlrepl.adapt.program.draft import Draft
from airflow_ddlrepl.adapt.program.program import ProgramStep
from airflow_ddlrepl.adapt.program.suspend import CatchUp, family
from airflow_ddlrepl.adapt.program.table_states import THERE, TableStates
from airflow_ddlrepl.ddl.sql.respell import moves, respelled
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.types import TypeDefinition

TYPE_MOVED_ON = "a type that it shares with other tables has changed while it was suspended"


def change_neighbours(draft: Draft, event: Event, now: TableState, catch_up: CatchUp | None) -> None:
    """Add the steps of other tables after a change of one: they share a type with it, or have the name that it takes.

    The rows before it go before it. catch_up: see `builder.ProgramBuilder`.
    """
    for after in with_changed_types(draft.states, event, now.shape.types):
        if catch_up is not None:
            catch_up.require_own(after, now)
        draft.change(event, after)
    for orphan in orphans_called(draft.states, now.name):
        draft.add(ProgramStep(event, orphan.table_id, None, orphan, None))
    for after in moved_aside(draft.states, now):
        if catch_up is not None:
            catch_up.require_own(after, now)
        draft.change(event, after)


def with_changed_types(
    table_states: TableStates, event: Event, types: Sequence[TypeDefinition]
) -> Iterator[TableState]:
    """Yield the other tables whose shapes use a type that an event has changed, with the type as it is now.

    Of a table that follows the source, the event is about the table itself, or the record of the change was lost. A
    suspended table has its rows of before the change still to come: it waits for a refresh from here on.
    """
    using = {s.table_id: s for s in table_states.with_other(types) if s.state in THERE}
    if not using:
        return
    in_event = {table.id for table in event.tables}
    late = [i for i, s in using.items() if s.state is TableStatus.SUSPENDED]
    trees = family(table_states.values(), late) if late else set()
    for other in list(table_states.values()) if trees else using.values():
        after = other
        if other.table_id in using and (other.state is TableStatus.SUSPENDED or other.table_id not in in_event):
            after = replace(other, shape=respelled(other.shape, moves(other.shape.types, types)))
        if other.table_id in trees and other.state is TableStatus.SUSPENDED and other.suspension is not None:
            why = replace(other.suspension, why=f"{TYPE_MOVED_ON} ({other.suspension})")
            after = replace(after, state=TableStatus.PENDING, suspension=why)
        if after is not other:
            yield after


def orphans_called(table_states: TableStates, name: TableName) -> list[TableState]:
    """Return the orphaned tables of a name that a live table gets: it is that table, or the orphan was renamed."""
    return [s for s in table_states.called(name) if s.state is TableStatus.ORPHANED]


def orphan_of(shape: Table, table_states: Mapping[int, TableState]) -> TableState:
    """Return the state of a table that stays at the target without one at the source: it was made anew elsewhere.

    Its id is no source table's: they are positive.
    """
    table_id = min([0, *table_states]) - 1
    return TableState(table_id, shape.name, shape.with_(id=table_id), TableStatus.ORPHANED)


def moved_aside(table_states: TableStates, now: TableState) -> Iterator[TableState]:
    """Yield each other table whose name a table takes, under the name that it is renamed to.

    Its new name at the source is in the log later; or earlier, when it is suspended.
    """
    for other in table_states.called(now.name):
        if other.table_id != now.table_id and other.state is not TableStatus.ORPHANED:
            aside = aside_name(other.shape)
            yield replace(other, name=aside, shape=other.shape.with_(name=aside))
