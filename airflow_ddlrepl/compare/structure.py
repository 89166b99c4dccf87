"""This module compares the shape of a target's table with the shape it should have, column by column, by name."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Extent
from airflow_ddlrepl.ddl.sql.lexer import canonical
from airflow_ddlrepl.ddl.tables.change_partition_key import partitioned_alike
from airflow_ddlrepl.model.table import Column, Table


def structure(source: Table, wanted: Table, found: Table) -> tuple[str, ...]:
    """Return in words what differs between a target's table and the shape that it should have.

    Empty: nothing differs that decides what rows the table can hold or how they are told apart.
    wanted: the shape that the target should hold, columns with the source's ids. found: as inspected there.
    """
    return (*_left_out(source, wanted), *_differences(wanted, found))


def _left_out(source: Table, wanted: Table) -> Iterator[str]:
    """The target may hold a wider type, or text for one that it can't have; it never lacks or renames a column."""
    held = {c.id: c for c in wanted.columns}
    for column in source.columns:
        there = held.get(column.id)
        if there is None:
            yield f"column {column.name} is not known at the target yet"
        elif there.name != column.name:
            yield f"column {column.name} is called {there.name} at the target"
        elif column.type.is_builtin and not _holds(there, column):
            yield f"column {column.name} has type {there.type.text}, at the source {column.type.text}"


def _holds(there: Column, column: Column) -> bool:
    """Return whether the target's type is equal to the source's or wider (keep_existing_structure)."""
    if canonical(there.type.text) == canonical(column.type.text):
        return True
    return ChangeType(column.id, column.name, there, column.type, column.collation).extent is Extent.NARROW


def _differences(wanted: Table, found: Table) -> Iterator[str]:
    there = {c.name: c for c in found.columns}
    for column in wanted.columns:
        if column.name not in there:
            yield f"column {column.name} is missing at the target"
        else:
            yield from _column(column, there[column.name])
    known = {c.name for c in wanted.columns}
    for name in there:
        if name not in known:
            yield f"column {name} is only at the target"
    if _key(wanted) != _key(found):
        yield f"key is ({_text(_key(found))}), should be ({_text(_key(wanted))})"
    if _deferrable(wanted) != _deferrable(found):
        yield f"deferrable key is {_deferrable(found)}, should be {_deferrable(wanted)}"
    if not partitioned_alike(wanted, found):
        yield f"partitioned {found.partition_key or 'not at all'}, should be {wanted.partition_key or 'not at all'}"


def _column(wanted: Column, found: Column) -> Iterator[str]:
    if canonical(wanted.type.text) != canonical(found.type.text):
        yield f"column {wanted.name} has type {found.type.text}, should be {wanted.type.text}"
    if wanted.nullable != found.nullable:
        yield f"column {wanted.name} {'takes NULL and should not' if found.nullable else 'refuses NULL and should not'}"
    if wanted.generated != found.generated:
        yield f"column {wanted.name} is {found.generated or 'not'} generated, should be {wanted.generated or 'plain'}"


def _key(table: Table) -> tuple[str, ...]:
    return tuple(c.name for c in table.key_columns())


def _deferrable(table: Table) -> str:
    key = table.deferrable_key
    return (
        f"({_text(tuple(table.column(i).name for i in key.columns))}) initially {key.deferrable}" if key else "(none)"
    )


def _text(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
