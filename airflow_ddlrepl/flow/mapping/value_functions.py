"""A function in the channel file (`transform`) computes a table's values at one target, and may require a reload."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.mapping.row_filters import require_whole_rows
from airflow_ddlrepl.mapping.values import Transform, computed_columns, function_of, transform_of
from airflow_ddlrepl.model.settings.table_settings import TableSettings, Values
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.types import TypeKind
from airflow_ddlrepl.scope.decide import taken_tables


def transform_at(at: ChannelAt, table: Table) -> Transform | None:
    """Return the transformation of the table's rows at that target, if it has one. Raises what `transform_of` does."""
    return transform_of(at.settings(table.name).values, table)


def require_functions(channel: Channel) -> None:
    """Raise Unsupported ADP-156 unless every function that the file names can be imported here."""
    for name in dict.fromkeys(one.function for one in channel.transform):
        function_of(name)


def require_transformable(at: ChannelAt, tables: Iterable[Table]) -> None:
    """Raise unless the target can have the values that the file says.

    Raises what `transform_at` and `function_of` raise, ADP-154 where the log lacks whole old rows.
    """
    for table in taken_tables(at, tables):
        found = transform_at(at, table)
        if found is None:
            continue
        function_of(found.function, table.name)
        require_whole_rows(at.channel, table, "transform", _LOOKED_AT)


_LOOKED_AT = "a function that reads its values, and those that an update does not change might be missing"


def require_one_function(at: ChannelAt, table: Table, parent: Table | None) -> None:
    """Raise Unsupported ADP-149 where a partition would have other values than its partitioned table."""
    if parent is None:
        return
    ours, theirs = (at.settings(one.name).values for one in (table, parent))
    if ours != theirs:
        raise Unsupported(
            f"by `transform` the partition {table.name} would have values of another function than {parent.name}",
            code="ADP-149",
            table=table.name,
            hint="write a pattern in `tables` that matches the partitioned table and its partitions alike",
        )


def require_still_given(
    before: TableState | None, source_before: Table | None, new: Table, settings: TableSettings
) -> None:
    """Raise Unsupported ADP-157 where a column that a function computes gets a name that the file does not list.

    settings: the file's for the table. The column would come as it is at the source.
    """
    recorded = before.settings.values if before else None
    if recorded is None or source_before is None or recorded != settings.values:
        return
    now = {column.id for column in computed_columns(recorded, new)}
    for column in computed_columns(recorded, source_before):
        called = next((one.name for one in new.columns if one.id == column.id), None)
        if called is not None and column.id not in now:
            raise Unsupported(
                f"`transform` gives the values of column {column.name}, which is called {called} now: with this file"
                " it would be replicated as it is at the source",
                code="ADP-157",
                table=new.name,
                hint=f"write {called} in `columns` of the entry, or another `version` if that is intended, and run"
                " again, which loads the table",
            )


def function_reads(values: Values | None, table: Table) -> tuple[object, ...]:
    """Return a table's value function, its version, and what it gives and looks at; empty where none gives values."""
    transform = transform_of(values, table)
    if transform is None:
        return ()
    composites = tuple(of for of in table.types if of.kind is TypeKind.COMPOSITE)
    seen = tuple((c.id, c.name, c.type.id, c.type.modifier) for c in table.columns if c.name in transform.reads)
    return transform.function, values, transform.gives, seen, composites
