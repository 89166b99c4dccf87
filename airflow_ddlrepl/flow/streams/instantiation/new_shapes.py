"""This module says which shape a table gets at a target where rows of one or several source tables come together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table


def with_computed(shape: Table, source: Table) -> Table:
    """Return a shape with the columns of the source's table that the server computes from others.

    They stay out where a column of the table is gone or has another name: the expression may need it.
    """
    names = {column.id: column.name for column in shape.columns}
    if any(names.get(column.id) != column.name for column in source.columns if not column.generated):
        return shape
    others = [column for column in shape.columns if column.id not in {one.id for one in source.columns}]
    columns = [column if column.generated else shape.column(column.id) for column in source.columns]
    taken = {one.name for one in others}
    return shape.with_(columns=(*(one for one in columns if one.name not in taken), *others))


def merged(name: TableName, shapes: Sequence[Table]) -> Table:
    """Return the shape of a table that takes rows of all these shapes: it has every column of them.

    A column that one of them lacks may be NULL. The key stays where all have the same one.
    Raises ApplyError APL-133 where a column has two types.
    """
    first, *others = shapes
    if all(_spelled(one) == _spelled(first) for one in others):
        return first.with_(name=name)
    columns: dict[str, Column] = {}
    for shape in shapes:
        for column in shape.columns:
            known = columns.setdefault(column.name, column)
            if known.type.text != column.type.text:
                raise ApplyError(
                    f"column {column.name} is {known.type.text} and {column.type.text} in tables that come together",
                    code="APL-133",
                    table=name,
                    hint="create the table at the target by hand, with a column that takes both; or rename one of them",
                )
    mandatory = {name for name in columns if all(_is_mandatory(shape, name) for shape in shapes)}
    numbered = {
        name: replace(column, id=number, nullable=name not in mandatory)
        for number, (name, column) in enumerate(columns.items(), 1)
    }
    types = {(one.schema, one.name): one for shape in shapes for one in shape.types}
    return first.with_(
        name=name,
        columns=tuple(numbered.values()),
        key=_key(shapes, numbered),
        second_key=None,
        types=tuple(types.values()),
        partition=None,
    )


def _spelled(shape: Table) -> tuple[object, ...]:
    columns = tuple((c.name, c.type.text, c.nullable, c.default, c.identity, c.generated) for c in shape.columns)
    return columns, tuple(column.name for column in shape.key_columns()), shape.partition


def _is_mandatory(shape: Table, name: str) -> bool:
    return any(column.name == name and not column.nullable for column in shape.columns)


def _key(shapes: Sequence[Table], columns: dict[str, Column]) -> Key | None:
    keys = {tuple(column.name for column in shape.key_columns()) for shape in shapes}
    first = shapes[0].key
    if len(keys) != 1 or first is None:
        return None
    return replace(first, columns=tuple(columns[name].id for name in next(iter(keys))))
