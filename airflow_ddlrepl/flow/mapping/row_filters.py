"""A condition in the channel file (`restrict`) chooses a table's rows at one target, and may require a reload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.mapping.rows import condition_columns
from airflow_ddlrepl.model.settings.table_settings import ColumnName, OwnColumns, Rows, TableSettings
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.notation.name_pattern import matches_one
from airflow_ddlrepl.scope.decide import taken_tables

Check = Callable[[Part, Table, Sequence[Column]], None]
"""A check asks a server whether it takes a table's condition, which looks at these columns; raises Unsupported."""


def condition_at(at: ChannelAt, table: Table) -> Part | None:
    """Return the condition for the table's rows at that target, or None. Raises what `condition_columns` raises."""
    text = at.settings(table.name).rows.condition
    if not text:
        return None
    found = condition(text)
    condition_columns(found, table)
    return found


def conditions_at(at: ChannelAt, table: Table) -> list[Part]:
    """Return all conditions for the table at that target, those of refreshes and of changes alone, too.

    Raises what `condition_columns` raises, ADP-178 where one that is not for all rows is for a table that has no key,
    or that has it otherwise at the target, and ADP-179 where the target lacks the columns of a refresh's.
    """
    settings, limits = at.settings(table.name), at.refresh_limits(table.name)
    rows = settings.rows
    found = [condition(text) for text in dict.fromkeys((*rows.of_changes, *limits))]
    for one in found:
        condition_columns(one, table)
    if limits or settings.leaves_out_changes:
        require_key(table)
        _require_source_rows(table, settings.columns)
    for text in limits:
        _require_present(settings.names.columns, table, condition(text))
    return found


def _require_source_rows(table: Table, own: OwnColumns) -> None:
    """Raise Unsupported ADP-178 where more than the source's rows decides what the target's are."""
    if own.soft_delete or own.time_key or own.key or own.discards:
        raise Unsupported(
            "`restrict` ignores changes, or has a condition for refreshes or changes alone, and by `target_tables` the"
            " target's rows are others than the source's, or are found by another key",
            code="ADP-178",
            table=table.name,
            hint="write `condition`, which is for all that is taken, or take it out of `target_tables` (KEYCOLS)",
        )


def _require_present(names: Sequence[ColumnName], table: Table, limit: Part) -> None:
    """Raise Unsupported ADP-179 where the target does not have what tells which of its rows a refresh replaces."""
    absent = [pattern for one in names if one.name is None for pattern in one.columns]
    if lacking := [name for name in limit.names() if matches_one(absent, name)]:
        raise Unsupported(
            f"the target lacks {', '.join(lacking)}, by which `restrict` chooses the rows that a refresh replaces",
            code="ADP-179",
            table=table.name,
            hint="write a condition over columns that the target has (`column_properties`)",
        )


def require_key(table: Table) -> None:
    """Raise Unsupported ADP-178 where a table has no key, by which rows that may be there already are found."""
    if table.key is None and not table.is_partitioned:
        raise Unsupported(
            "`restrict` ignores changes, or has a condition for refreshes or changes alone, and the table has no key to"
            " find its rows by",
            code="ADP-178",
            table=table.name,
            hint="give the table a primary key at the source, or write `condition`, which is for all that is taken",
        )


def require_whole_rows(channel: Channel, table: Table, section: str, why: str) -> None:
    """Raise Unsupported ADP-154 where the log lacks whole old rows. section: of the file, which asks for them.

    why: what it has for the table, and what would not be known.
    """
    if table.is_partitioned or table.identity is Identity.FULL:
        return
    raise Unsupported(
        f"`{section}` has {why}: the log does not contain its whole old rows",
        code="ADP-154",
        table=table.name,
        hint=source_engine(channel).whole_rows_hint(table, section),
    )


_IN_OR_OUT = "a condition for its rows, and which rows begin or cease to match it would not be known"


def require_restrictable(at: ChannelAt, tables: Iterable[Table], check: Check) -> None:
    """Raise unless the target can have the rows of these tables that the file chooses.

    check: of a server that reads the conditions. Raises what `condition_at` and `require_whole_rows` raise, ADP-148
    where the server can't read a condition.
    """
    for table in taken_tables(at, tables):
        conditions = conditions_at(at, table)
        if conditions or at.settings(table.name).rows.ignore:
            require_whole_rows(at.channel, table, "restrict", _IN_OR_OUT)
        for found in conditions:
            check(found, table, condition_columns(found, table))


def require_one_condition(at: ChannelAt, table: Table, parent: Table | None) -> None:
    """Raise Unsupported ADP-149 where a partition would have other rows than its partitioned table."""
    if parent is None:
        return
    ours, theirs = (at.settings(one.name).rows for one in (table, parent))
    if (ours.of_changes, ours.ignore) != (theirs.of_changes, theirs.ignore):
        raise Unsupported(
            f"by `restrict` the partition {table.name} would have rows by another condition than {parent.name}",
            code="ADP-149",
            table=table.name,
            hint="write a pattern in `tables` that matches the partitioned table and its partitions alike",
        )


def require_lasting(before: TableState | None, new: Table, settings: TableSettings) -> None:
    """Raise what `condition_columns` raises where a statement takes away what the condition looks at.

    settings: the file's for the table. A table that waits gets its rows by the condition at that time.
    """
    if before is None or before.state is TableStatus.LIVE:
        rows = settings.rows
        known = before.settings.rows if before is not None else rows
        for was, text in zip(_conditions(known), _conditions(rows), strict=True):
            if text and text == was:
                condition_columns(condition(text), new)
        if rows.refresh or settings.leaves_out_changes:
            require_key(new)


def _conditions(rows: Rows) -> tuple[str, ...]:
    return rows.condition, rows.of_changes_alone, rows.refresh


def condition_reads(rows: Rows, table: Table) -> tuple[object, ...]:
    """Return the columns that the table's row condition looks at, with their types. rows: by the file's settings."""
    names = condition(rows.condition).names() if rows.condition else ()
    return tuple((c.id, c.type, c.collation) for c in table.columns if c.name in names)
