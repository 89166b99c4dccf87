"""This module applies `column_properties`: columns that have another name at a target, or are absent there. Pure.

What builds on a column follows by the same schema changes that a source would make: `RenameColumn`, `DropColumn`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from airflow_ddlrepl.ddl.base.edit import free_name, renames_in_order
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.column_names import is_unambiguous, mentions
from airflow_ddlrepl.ddl.columns.column_order import to_drop
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.settings.table_settings import ColumnName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.notation.name_pattern import matches_one

ColumnNames = Sequence[ColumnName]


def target_names(table: Table, names: ColumnNames) -> dict[str, str | None]:
    """Return the target's name of each of the source's columns; None: the column is absent there."""
    return {column.name: target_name(column.name, names) for column in table.columns}


def without_absent(table: Table, names: ColumnNames) -> Table:
    """Return the table as its rows are read: with the source's names, without columns that are absent at the target.

    Raises Unsupported ADP-141 for a column of the key, ADP-142 for one that another one or the partitions build on.
    """
    gone = to_drop(column for column in table.columns if target_name(column.name, names) is None)
    if not gone:
        return table
    left = table
    for column in gone:
        left = DropColumn(column).alter(left)
        _refuse_key(table, column)
    for column in gone:
        _refuse_needed(left, column)
    return left.with_(types=used_types(left))


def target_shape(table: Table, names: ColumnNames) -> Table:
    """Return the table as it should be at the target, but under the source's table name.

    Raises what `without_absent` raises, ADP-143 where two columns would have one name, and ADP-144 where an
    expression leaves open what in it is the column.
    """
    shape = without_absent(table, names)
    found = {c.id: (c.name, target_name(c.name, names) or c.name) for c in shape.columns}
    _refuse_twice(shape, found)
    for old, new in found.values():
        if old != new:
            _refuse_unsure(shape, old)
    for one in renames_in_order(found, frozenset(column.name for column in shape.columns)):
        shape = RenameColumn(*one).alter(shape)
    return shape


def with_revealed_columns(shape: Table, source: Table, after: Table) -> Table:
    """Return the target's shape plus the columns of the source's table that it hides and that the next shape shows.

    Their values are in no change of the log. shape: `source` as the target had it. after: the next shape.
    """
    there, shown = {column.id for column in shape.columns}, {column.id: column.name for column in after.columns}
    taken = {column.name for column in shape.columns}
    for column in source.columns:
        if column.id in shown and column.id not in there:
            name = free_name(shown[column.id], taken)
            taken.add(name)
            shape = AddColumn(replace(column, name=name)).alter(shape)
    return shape


def target_name(column: str, names: ColumnNames) -> str | None:
    """Return the target's name of a column, by the first entry that matches; None: it is absent."""
    return next((one.name for one in names if matches_one(one.columns, column)), column)


def _refuse_key(table: Table, column: Column) -> None:
    if table.key is not None and column.id in table.key.columns:
        raise Unsupported(
            f"column_properties make column {column.name} absent, which is part of the key",
            code="ADP-141",
            table=table.name,
            hint="the target can't identify its rows without it: give it a name instead, or take it out of the pattern",
        )


def _refuse_needed(left: Table, column: Column) -> None:
    users = [f"column {user}" for user, expression in _expressions(left) if mentions(expression, column.name)]
    if mentions((left.partition_key or "").partition(" ")[2], column.name):
        users.append("the partition key")
    if users:
        raise Unsupported(
            f"column_properties make column {column.name} absent, and {users[0]} may be computed from it",
            code="ADP-142",
            table=left.name,
            hint="make that one absent, too, or take this one out of the pattern",
        )


def _refuse_twice(shape: Table, found: dict[int, tuple[str, str]]) -> None:
    called: dict[str, str] = {}
    for old, new in found.values():
        if new in called:
            raise Unsupported(
                f"column_properties give columns {called[new]} and {old} the same name {new}",
                code="ADP-143",
                table=shape.name,
                hint="write a property for each, or a pattern that matches one of them",
            )
        called[new] = old


def _refuse_unsure(shape: Table, name: str) -> None:
    expressions = [expression for _, expression in _expressions(shape)]
    for expression in (*expressions, (shape.partition_key or "").partition(" ")[2]):
        if not is_unambiguous(expression, name):
            raise Unsupported(
                f"column_properties rename column {name}, and it is not certain what in `{expression}` is that column",
                code="ADP-144",
                table=shape.name,
                hint="take the column out of the pattern, or make the column that is computed from it absent",
            )


def _expressions(table: Table) -> Iterator[tuple[str, str]]:
    return ((column.name, column.default or "") for column in table.columns if column.generated)


def used_types(table: Table) -> tuple[TypeDefinition, ...]:
    """Return the types that a column of the table uses, or that such a type uses."""
    texts = [column.type.text for column in table.columns]
    used = []
    for type_ in reversed(table.types):  # what a type builds on stands before it
        if any(mentions(text, type_.name) for text in texts):
            used.append(type_)
            texts += [type_.base or "", *(attribute.type for attribute in type_.attributes)]
    return tuple(reversed(used))
