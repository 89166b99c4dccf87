"""Two changes of one table that did not see each other, put together: a three-way merge of shapes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from airflow_ddlrepl.ddl.type_text import respell
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition

Part = TypeVar("Part", Table, Column, DataType, TypeDefinition)

Moves = Mapping[tuple[str, str], tuple[str, str]]


def merge(base: Table, mine: Table, theirs: Table) -> Table:
    """`mine` with what changed from `base` to `theirs`.

    Columns are told by their ids and types by their oids. What both changed is `mine`'s: the server lets two
    transactions change the same thing only one after the other, so the later one knew what the earlier one did.
    """
    by_mine, by_theirs = _moves(base.types, mine.types), _moves(base.types, theirs.types)
    base = _respell(_respell(base, by_theirs), by_mine)
    mine, theirs = _respell(mine, by_theirs), _respell(theirs, by_mine)
    merged = _merge_fields(base, mine, theirs, but=("columns", "types"))
    columns = _merge_parts(base.columns, mine.columns, theirs.columns, lambda column: column.id)
    types = _merge_parts(base.types, mine.types, theirs.types, lambda definition: definition.oid)
    used = {(column.type.schema, column.type.name) for column in columns} - {(t.schema, t.name) for t in types}
    still = [t for t in base.types if (t.schema, t.name) in used]  # one stopped using it, the other began to
    return replace(merged, columns=tuple(sorted(columns, key=lambda column: column.id)), types=(*still, *types))


def with_definitions(table: Table, known: Mapping[int, TypeDefinition]) -> Table:
    """The table with these definitions of types (by oid) in the place of its own."""
    table = _respell(table, _moves(table.types, tuple(known.values())))
    return replace(table, types=tuple(known.get(t.oid, t) for t in table.types))


def _merge_fields(base: Part, mine: Part, theirs: Part, but: Sequence[str] = ()) -> Part:
    changed = {
        name: getattr(theirs, name)
        for name in (f.name for f in fields(mine) if f.name not in but)
        if getattr(mine, name) == getattr(base, name)
    }
    return replace(mine, **changed)


def _merge_parts(
    base: Sequence[Part], mine: Sequence[Part], theirs: Sequence[Part], identity: Callable[[Part], Hashable]
) -> list[Part]:
    """In the order of `mine`; what only `theirs` has stands before what it precedes there."""
    old, ours, new = ({identity(part): part for part in parts} for parts in (base, mine, theirs))
    waiting = [key for key in new if key not in ours and key not in old]
    place = {key: i for i, key in enumerate(new)}
    merged: list[Part] = []
    for key, part in ours.items():
        while waiting and key in place and place[waiting[0]] < place[key]:
            merged.append(new[waiting.pop(0)])
        if key in new:
            merged.append(_merge_fields(old[key], part, new[key]) if key in old else part)
        elif key not in old:
            merged.append(part)
    return merged + [new[key] for key in waiting]


def _moves(before: Sequence[TypeDefinition], after: Sequence[TypeDefinition]) -> Moves:
    """Types that have another schema or name now."""
    old = {t.oid: (t.schema, t.name) for t in before}
    return {old[t.oid]: (t.schema, t.name) for t in after if old.get(t.oid, (t.schema, t.name)) != (t.schema, t.name)}


def _respell(table: Table, moves: Moves) -> Table:
    """The table with its types called as after these moves."""
    if not moves:
        return table
    columns = tuple(_respell_column(column, moves) for column in table.columns)
    return replace(table, columns=columns, types=tuple(_respell_definition(t, moves) for t in table.types))


def _respell_column(column: Column, moves: Moves) -> Column:
    of = column.type
    schema, name = moves.get((of.schema, of.name), (of.schema, of.name))
    type_ = replace(of, schema=schema, name=name, text=_respell_text(of.text, moves))
    return replace(column, type=type_, default=column.default and _respell_constant(column.default, moves))


def _respell_constant(text: str, moves: Moves) -> str:
    """`'a'::shop.status`: the cast at its end."""
    value, sign, cast = text.rpartition("::")
    return text if not sign or "'" in cast else value + sign + _respell_text(cast, moves)


def _respell_definition(of: TypeDefinition, moves: Moves) -> TypeDefinition:
    schema, name = moves.get((of.schema, of.name), (of.schema, of.name))
    attributes = tuple(replace(a, type=_respell_text(a.type, moves)) for a in of.attributes)
    base = of.base and _respell_text(of.base, moves)
    return replace(of, schema=schema, name=name, attributes=attributes, base=base)


def _respell_text(text: str, moves: Moves) -> str:
    for old, new in moves.items():
        if (spelled := respell(text, old, new)) != text:
            return spelled
    return text
