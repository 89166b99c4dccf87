"""This module compares the shape of a target's table with the shape it should have, column by column, by name."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.ddl.base.same_shape import Aspect, differences, same_type
from airflow_ddlrepl.ddl.columns.change_type import Extent, extent_between
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.types import TypeSystem


def structure(source: Table, wanted: Table, found: Table, types: TypeSystem) -> tuple[str, ...]:
    """Return in words what differs between a target's table and the shape that it should have.

    Empty: nothing differs that decides what rows the table can hold or how two rows are distinguished.
    wanted: the shape that the target should hold, columns with the source's ids. found: as inspected there.
    types: of the target.
    """
    return (*left_behind(source, wanted, types), *_in_words(wanted, found))


def left_behind(source: Table, wanted: Table, types: TypeSystem) -> Iterator[str]:
    """Yield the columns of the source that the wanted shape lacks, renames or can't hold, in words.

    The target may hold a wider type, or text for one that it can't have; it never lacks or renames a column.
    """
    held = {c.id: c for c in wanted.columns}
    for column in source.columns:
        there = held.get(column.id)
        if there is None:
            yield f"column {column.name} is not known at the target yet"
        elif there.name != column.name:
            yield f"column {column.name} is called {there.name} at the target"
        elif column.type.is_builtin and types.has(column.type) and not _holds(there, column, types):
            yield f"column {column.name} has type {there.type.text}, at the source {column.type.text}"


def _holds(there: Column, column: Column, types: TypeSystem) -> bool:
    """Return whether the target's type is equal to the source's or wider (keep_existing_structure)."""
    return same_type(there.type, column.type) or extent_between(there, column, types) is Extent.NARROW


def _in_words(wanted: Table, found: Table) -> Iterator[str]:
    for one in differences(wanted, found):
        match one.aspect:
            case Aspect.MISSING_COLUMN:
                yield f"column {one.column} is missing at the target"
            case Aspect.EXTRA_COLUMN:
                yield f"column {one.column} is only at the target"
            case Aspect.KEY:
                yield f"key is ({_key(found)}), should be ({_key(wanted)})"
            case Aspect.SECOND_KEY:
                yield f"primary key is {_second_key(found)}, should be {_second_key(wanted)}"
            case Aspect.PARTITION_KEY:
                here, there = (table.partition_key or "not at all" for table in (wanted, found))
                yield f"partitioned {there}, should be {here}"
            case aspect:
                yield _column(aspect, wanted.named(one.column), found.named(one.column))


def _column(aspect: Aspect, wanted: Column, found: Column) -> str:
    if aspect is Aspect.TYPE:
        return f"column {wanted.name} has type {found.type.text}, should be {wanted.type.text}"
    if aspect is Aspect.NULLABLE:
        return (
            f"column {wanted.name} {'allows NULL and should not' if found.nullable else 'refuses NULL and should not'}"
        )
    return f"column {wanted.name} is {found.generated or 'not'} generated, should be {wanted.generated or 'plain'}"


def _key(table: Table) -> str:
    return _text(tuple(c.name for c in table.key_columns()))


def _second_key(table: Table) -> str:
    key = table.second_key
    when = f" initially {key.deferrable}" if key and key.deferrable else ""
    return f"({_text(tuple(table.column(i).name for i in key.columns))}){when}" if key else "(none)"


def _text(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
