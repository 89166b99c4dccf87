"""This module spells the types of a table by their new names, after types were renamed or moved to another schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from airflow_ddlrepl.ddl.sql.type_text import respell
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition

Moves = Mapping[tuple[str, str], tuple[str, str]]


def with_definitions(table: Table, known: Mapping[int, TypeDefinition]) -> Table:
    """Return the table with these definitions of types (by id) instead of its own."""
    table = respelled(table, moves(table.types, tuple(known.values())))
    return replace(table, types=tuple(known.get(t.id, t) for t in table.types))


def moves(before: Sequence[TypeDefinition], after: Sequence[TypeDefinition]) -> Moves:
    """Return the types that got another schema or name: the old name, and the new one."""
    old = {t.id: (t.schema, t.name) for t in before}
    return {old[t.id]: (t.schema, t.name) for t in after if old.get(t.id, (t.schema, t.name)) != (t.schema, t.name)}


def respelled(table: Table, moves: Moves) -> Table:
    """Return the table with its types spelled by their names after these moves."""
    if not moves:
        return table
    columns = tuple(_respell_column(column, moves) for column in table.columns)
    return replace(table, columns=columns, types=respelled_types(table.types, moves))


def respelled_types(types: Sequence[TypeDefinition], moves: Moves) -> tuple[TypeDefinition, ...]:
    """Return these type definitions with the types in them spelled by their names after these moves."""
    return tuple(_respell_definition(of, moves) for of in types)


def respelled_text(text: str, moves: Moves) -> str:
    """Return the text of a type, spelled by its name after these moves."""
    for old, new in moves.items():
        if (spelled := respell(text, old, new)) != text:
            return spelled
    return text


def _respell_column(column: Column, moves: Moves) -> Column:
    of = column.type
    schema, name = moves.get((of.schema, of.name), (of.schema, of.name))
    type_ = replace(of, schema=schema, name=name, text=respelled_text(of.text, moves))
    return replace(column, type=type_, default=column.default and _respell_constant(column.default, moves))


def _respell_constant(text: str, moves: Moves) -> str:
    """Return the constant with the new name in the cast at its end, as in `'a'::shop.status`."""
    value, sign, cast = text.rpartition("::")
    return text if not sign or "'" in cast else value + sign + respelled_text(cast, moves)


def _respell_definition(of: TypeDefinition, moves: Moves) -> TypeDefinition:
    schema, name = moves.get((of.schema, of.name), (of.schema, of.name))
    attributes = tuple(replace(a, type=respelled_text(a.type, moves)) for a in of.attributes)
    base = of.base and respelled_text(of.base, moves)
    return replace(of, schema=schema, name=name, attributes=attributes, base=base)
