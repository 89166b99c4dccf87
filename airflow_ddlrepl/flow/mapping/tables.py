"""The channel file's properties of a table at one target are its name, columns, rows and values there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.places import beside, named_in_file
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.row_filters import conditions_at, require_one_condition
from airflow_ddlrepl.flow.mapping.value_functions import require_one_function, transform_at
from airflow_ddlrepl.goldengate.parameters.mapping import all_targets_of
from airflow_ddlrepl.mapping.conflicts import require_resolvable
from airflow_ddlrepl.mapping.extra_columns import with_extra_columns, with_own_key
from airflow_ddlrepl.mapping.names import target_names, target_shape, without_absent
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.scope.decide import taken_tables


class ShapeAt(Protocol):
    """A function of this kind returns the enrolled shape of a table at a place in the log."""

    def __call__(self, table_id: int, key: LogKey, /) -> Table | None: ...


def shape_before(shape_at: ShapeAt, table_id: int, event: Event) -> Table | None:
    """Return the source's shape of a table before the statement of an event."""
    return shape_at(table_id, event.key.previous)


def seen_at(at: ChannelAt, table: Table, *, lenient: bool = False) -> Table:
    """Return the source's table as the target is to have it.

    lenient: see `with_extra_columns`. Raises what that, `target_shape` and `require_resolvable` raise.
    """
    settings = at.settings(table.name)
    if settings is NO_SETTINGS:
        return table
    names, own = settings.names.columns, settings.columns
    table = with_own_key(table, own, lenient=lenient)
    shape = target_shape(table, names) if names else table
    shape = with_extra_columns(shape, table, own, lenient=lenient)
    if not lenient and settings.conflicts is not None:
        require_resolvable(table, shape, settings.conflicts, own)
    return shape


def names_later_columns(at: ChannelAt, event: Event, latest: Table | None) -> bool:
    """May an expression of `target_tables` name columns that the table gets later in the log?

    It may where the file has changed, and all of them are in the table's latest shape. Raises what `seen_at` raises.
    """
    is_later = event.kind is EventKind.PROPERTIES and latest is not None
    if is_later and latest is not None:
        seen_at(at, latest)
    return is_later


def read_for(at: ChannelAt, table: Table, table_state: TableState | None = None) -> Table:
    """Return the part of a source's table that is read for the target. table_state: the table there, where that counts.

    A table that does not follow, or that does not have the file's present settings yet, takes what it has columns for.
    """
    now = at.settings(table.name)
    own = table_state.settings.columns if table_state is not None else now.columns
    table = with_own_key(table, own, lenient=table_state is not None)
    names = now.names.columns
    if not names or not policy_at(at, table.name).adapts:
        return table
    if table_state is not None and table_state.settings != now:
        return table
    return without_absent(table, names)


def changed(at: ChannelAt, low: Position, table_states: Mapping[int, TableState], shape_at: ShapeAt) -> Event | None:
    """Return an event that gives the target's tables the file's present settings; None: they have them.

    It comes when the log has passed what their refreshes have seen already: they may show later columns.
    """
    if not at.channel.has_properties and all(one.settings == NO_SETTINGS for one in table_states.values()):
        return None
    start = LogKey(low, START_OF_TRANSACTION)
    stale = []
    for table_state in table_states.values():
        table = shape_at(table_state.table_id, start)
        if table is None or table_state.state not in (TableStatus.LIVE, TableStatus.PENDING):
            continue
        if table_state.settings != at.settings(table.name):
            stale.append(table_state)
    if not stale:
        return None
    end = max([low, *(table_state.snapshot.high for table_state in stale if table_state.snapshot)])
    key = LogKey(end, START_OF_TRANSACTION)
    found = [table for table_state in stale if (table := shape_at(table_state.table_id, key)) is not None]
    found.sort(key=_depth)
    return Event(EventKind.PROPERTIES, key, 0, 0, tag="PROPERTIES", tables=tuple(found))


def _depth(table: Table) -> int:
    """Return the sort key that puts a partitioned table before its partitions."""
    return 2 * (table.partition is not None) + (not table.is_partitioned)


def called(known: Evidence, table: Table, at: ChannelAt) -> Evidence:
    """Return the evidence under the target's column names, where the statement has the source's."""
    if not known.conversions:
        return known
    there = target_names(table, at.settings(table.name).names.columns)
    conversions = {there.get(column) or column: how for column, how in known.conversions.items()}
    return replace(known, conversions=conversions)


def refused(table: Table, name: TableName, table_state: TableState | None, error: Unsupported) -> TablePlan:
    """Return the plan that refuses a table whose properties ask what can't be."""
    step = Step(StepKind.REFUSE, error.message, code=error.code, hint=error.hint)
    return TablePlan(table.name, name, (), (), (step,), (), table_state.shape if table_state else None)


def require_like_parent(at: ChannelAt, table: Table, parent: Table | None) -> None:
    """Raise Unsupported where a partition would be unlike its partitioned table at the target.

    ADP-145: it would have other columns. ADP-149: it would have rows by another condition, or values of another
    function.
    """
    if parent is None:
        return
    require_one_condition(at, table, parent)
    require_one_function(at, table, parent)
    settings, of_parent = (at.settings(one.name) for one in (table, parent))
    ours, theirs = target_names(table, settings.names.columns), target_names(parent, of_parent.names.columns)
    has_others = not settings.columns.like(of_parent.columns)
    where = "target_tables" if has_others else "column_properties"
    if has_others or any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys()):
        raise Unsupported(
            f"by {where} the partition {table.name} would have other columns than {parent.name}",
            code="ADP-145",
            table=table.name,
            hint="write a pattern in `tables` that matches the partitioned table and its partitions alike",
        )


def require_possible(at: ChannelAt, tables: Collection[Table]) -> None:
    """Raise unless the target can have these tables as the file says.

    Raises what `target_shape`, `conditions_at` and `transform_at` raise, Unsupported ADP-145 and
    ADP-149 for a partition that would be unlike its partitioned table, ADP-146 for two tables of one name, and what
    `require_one_target` raises. Tables of which the target takes nothing may be anything.
    """
    by_id = {table.id: table for table in taken_tables(at, tables)}
    known: dict[TableName, TableName] = {}
    for table in by_id.values():
        require_one_target(at, table)
        seen_at(at, table)
        conditions_at(at, table)
        transform_at(at, table)
        require_like_parent(at, table, by_id.get(table.partition.of) if table.partition else None)
        name = at.target_name(table.name)
        if name in known:
            raise same_name(name, known[name], table.name)
        known[name] = table.name
    for other in map(at.channel.at, beside(at.target, at.channel.targets)):
        for table in taken_tables(other, tables):
            name = other.target_name(table.name)
            if name in known:
                raise same_name(name, known[name], table.name)


def require_one_target(at: ChannelAt, table: Table) -> None:
    """Raise Unsupported ADP-180 for a table that a target's MAP parameters give more names than it can have there.

    A replay has one table of each; a channel's target has others beside it for further TARGETs, but types of the
    source's, which a table there would share with the first one, can't be altered twice.
    """
    replicat = at.place.replicat
    names = all_targets_of(table.name, replicat) if replicat is not None else ()
    if len(names) < 2 or replicat is None:
        return
    why, hint = "", "write one MAP for it, or name it in `exclude` (MAPEXCLUDE) of replicat"
    most = len(names) if at.is_replay else 1 + len(beside(at.target, at.channel.targets))
    if not replicat.nth_target or len(names) > most:
        hint += "; a replay has one table of each, and a name in upper case stands in double quotes in MAP"
    elif table.types:
        why = f"; they would share the type {table.types[0].schema}.{table.types[0].name}"
        hint += "; another target in the channel file, with another database, may have the other MAP"
    else:
        return
    raise Unsupported(
        f"at {named_in_file(at.target)} MAP makes several tables of {table.name}: {', '.join(map(str, names))}{why}",
        code="ADP-180",
        table=table.name,
        hint=hint,
    )


def same_name(at_target: TableName, one: TableName, other: TableName) -> Unsupported:
    """Return the error ADP-146: two tables of the source would have one name at the target."""
    return Unsupported(
        f"{one} and {other} would both be {at_target} at the target",
        code="ADP-146",
        table=other,
        hint="write a name for each (table_properties), or another schema (`schemas`, integrate_schema)",
    )
