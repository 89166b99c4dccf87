"""Some of the tables that wait may be loaded now; others have to wait until more of the log is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.dropped_table import aside_name, makes_way
from airflow_ddlrepl.adapt.policy import makes_two_of_rename
from airflow_ddlrepl.adapt.shape.partitions import has_other_columns
from airflow_ddlrepl.adapt.shape.type_changes import has_other_types
from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.engines.target_state import StateChange
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus


def loadable(
    run: RunContext, target: str, at: Position, table_states: Mapping[int, TableState], tables: Sequence[Table]
) -> Iterator[Table]:
    """Yield the tables that can be loaded now: no later change of theirs is pending that other tables share with them.

    A partitioned table's columns and a type are changed by the log, at its place: until then the others wait. So does
    a new table whose name another table of the target still has, one of which some rows are to be replaced: the others
    stay, and the log has its changes; and one whose new name makes another table of it.
    """
    there = (TableStatus.LIVE, TableStatus.PENDING, TableStatus.SUSPENDED)
    taken = {s.name: s for s in table_states.values() if s.state in there}
    history = run.repository.histories(run.channel.name)
    loaded, place = {table.id for table in tables}, LogKey(at, START_OF_TRANSACTION)
    for table in tables:
        revision = valid_at(history.get(table.id, ()), place)
        before = revision.table if revision else None
        shares = table.partition is not None and table.partition.of not in loaded
        other = taken.get(run.channel.at(target).target_name(table.name))
        is_taken = other is not None and other.table_id != table.id and not namesake(run, target, table, other)
        state = table_states.get(table.id)
        is_later = state is not None and state.awaits_rows and before != table
        is_later = is_later or (before is not None and makes_two_of_rename(run.channel, before, table))
        is_shared = before and (has_other_types(before, table) or (shares and has_other_columns(before, table)))
        if is_taken or is_later or is_shared:
            log.warning("%s still waits at %s: the next cycle brings what has changed since", table.name, target)
        else:
            yield table


def names_given_up(
    run: RunContext, target: str, table_states: Mapping[int, TableState], tables: Sequence[Table]
) -> StateChange | None:
    """Return how to rename tables at the target whose names the tables to load get; None: there is none.

    A suspended table, or one that was, has its own renames still to come: its rows bring them.
    """
    latest, render = run.repository.latest_revisions(run.channel.name), run.target(target).renderer()
    owners = {run.channel.at(target).target_name(table.name): table.id for table in tables}
    statements: list[str] = []
    states: dict[int, TableState] = {}
    for one in table_states.values():
        known = latest[one.table_id].table if one.table_id in latest else None
        name = run.channel.at(target).target_name(known.name) if known else None
        is_late = one.state in (TableStatus.PENDING, TableStatus.SUSPENDED) and one.suspension is not None
        if is_late and name != one.name and owners.get(one.name, one.table_id) != one.table_id:
            shape = one.shape.with_(name=one.name)
            away = shape.with_(name=aside_name(shape))
            statements += makes_way(shape, "another table has its name", render).sql
            states[one.table_id] = replace(one, name=away.name, shape=away)
    return StateChange(statements=statements, states=states) if states else None


def namesake(run: RunContext, target: str, table: Table, other: TableState) -> TableName | None:
    """Return the other table's name at the source where both would have one name at the target; None: they would not.

    As far as the log is captured. It may have been dropped, even before an ended activation enrolled it.
    """
    known = run.repository.latest_revisions(run.channel.name).get(other.table_id)
    if known is None or known.table is None or known.table.name == table.name:
        return None
    name_of, channel = known.table.name, run.channel
    return name_of if channel.at(target).target_name(name_of) == channel.at(target).target_name(table.name) else None
