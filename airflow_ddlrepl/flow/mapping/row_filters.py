"""A condition in the channel file (`restrict`) chooses a table's rows at one target, and may require a reload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.table_mapping import (
    Restriction,
    changes_in,
    condition_in,
    ignored_in,
    refreshed_in,
)
from airflow_ddlrepl.config.sections.target_tables import TargetTable, has_time_key
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from airflow_ddlrepl.transform.rows import condition_columns

Check = Callable[[Part, Table, Sequence[Column]], None]
"""A check asks a server whether it takes a table's condition, which looks at these columns; raises Unsupported."""


def condition_at(channel: Channel, target: str, table: Table) -> Part | None:
    """Return the condition for the table's rows at that target, or None. Raises what `condition_columns` raises."""
    restriction = channel.restriction_at(target, table.name)
    if restriction is None or not restriction.condition:
        return None
    found = condition(restriction.condition)
    condition_columns(found, table)
    return found


def conditions_at(channel: Channel, target: str, table: Table) -> list[Part]:
    """Return all conditions for the table at that target, those of refreshes and of changes alone, too.

    Raises what `condition_columns` raises, ADP-178 where one that is not for all rows is for a table that has no key,
    or that has it otherwise at the target, and ADP-179 where the target lacks the columns of a refresh's.
    """
    changes = channel.restriction_at(target, table.name)
    texts = list(changes.of_changes) if changes else []
    limits = [one.refresh for one in channel.restrict if one.refresh and one.applies_to(target, table.name)]
    texts += limits
    found = [condition(text) for text in dict.fromkeys(texts)]
    for one in found:
        condition_columns(one, table)
    entry = channel.target_table_at(target, table.name)
    is_history = entry is not None and entry.time_key
    ignores = changes is not None and bool(changes.ignore) and not is_history
    if limits or ignores or (changes and changes.of_changes and not changes.condition):
        require_key(table)
        _require_source_rows(table, entry)
    for text in limits:
        _require_present(channel, target, table, condition(text))
    return found


def _require_source_rows(table: Table, entry: TargetTable | None) -> None:
    """Raise Unsupported ADP-178 where more than the source's rows decides what the target's are."""
    if entry is not None and (entry.soft_delete or entry.time_key or entry.key or entry.discards):
        raise Unsupported(
            "`restrict` ignores changes, or has a condition for refreshes or changes alone, and by `target_tables` the"
            " target's rows are others than the source's, or are found by another key",
            code="ADP-178",
            table=table.name,
            hint="write `condition`, which is for all that is taken, or take it out of `target_tables` (KEYCOLS)",
        )


def _require_present(channel: Channel, target: str, table: Table, limit: Part) -> None:
    """Raise Unsupported ADP-179 where the target does not have what tells which of its rows a refresh replaces."""
    absent = [p for p in channel.columns_at(target, table.name) if p.absent]
    if lacking := [name for name in limit.names() if any(p.is_for(name) for p in absent)]:
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


def require_restrictable(channel: Channel, target: str, tables: Iterable[Table], check: Check) -> None:
    """Raise unless the target can have the rows of these tables that the file chooses.
     check: of a server that reads the conditions. Raises what `condition_at` and `require_whole_rows` raise, ADP-148
    where the server can't read a condition.
    """
    client = client_at(channel, target)
    for table in tables:
        if not decide(client, table.name, ChangeKind.TABLE).is_taken:
            continue
        conditions = conditions_at(channel, target, table)
        changes = channel.restriction_at(target, table.name)
        if conditions or (changes is not None and changes.ignore):
            require_whole_rows(channel, table, "restrict", _IN_OR_OUT)
        for found in conditions:
            check(found, table, condition_columns(found, table))


def require_one_condition(channel: Channel, target: str, table: Table, parent: Table | None) -> None:
    """Raise Unsupported ADP-149 where a partition would have other rows than its partitioned table."""
    if parent is None:
        return
    ours, theirs = (channel.restriction_at(target, one.name) for one in (table, parent))
    if _of_changes(ours) != _of_changes(theirs):
        raise Unsupported(
            f"by `restrict` the partition {table.name} would have rows by another condition than {parent.name}",
            code="ADP-149",
            table=table.name,
            hint="write a pattern in `tables` that matches the partitioned table and its partitions alike",
        )


def _of_changes(entry: Restriction | None) -> tuple[object, ...]:
    return (entry.of_changes, entry.ignore) if entry is not None else ((), ())


def require_lasting(before: TableState | None, new: Table, properties: str) -> None:
    """Raise what `condition_columns` raises where a statement takes away what the condition looks at.

    properties: the file's settings for the table. A table that waits gets its rows by the condition at that time.
    """
    if before is None or before.state is TableStatus.LIVE:
        for text_in in (condition_in, changes_in, refreshed_in):
            text = text_in(before.properties if before else properties)
            if text and text == text_in(properties):
                condition_columns(condition(text), new)
        ignores = ignored_in(properties) and not has_time_key(properties)
        if changes_in(properties) or refreshed_in(properties) or ignores:
            require_key(new)


def condition_reads(properties: str, table: Table) -> tuple[object, ...]:
    """Return the columns that the table's row condition looks at, with their types. properties: the file's settings."""
    condition_text = condition_in(properties)
    names = condition(condition_text).names() if condition_text else ()
    return tuple((c.id, c.type, c.collation) for c in table.columns if c.name in names)
