"""This module merges two changes of one table that did not see each other: a three-way merge of shapes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from airflow_ddlrepl.ddl.sql.respell import moves, respelled
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition

Part = TypeVar("Part", Table, Column, DataType, TypeDefinition)


def merge(base: Table, mine: Table, theirs: Table) -> Table:
    """Return `mine` with what changed from `base` to `theirs`.

    Columns are matched by their ids and types by theirs. What both changed is `mine`'s: the server lets two
    transactions change the same thing only one after the other, so the later one knew what the earlier one did.
    """
    by_mine, by_theirs = moves(base.types, mine.types), moves(base.types, theirs.types)
    base = respelled(respelled(base, by_theirs), by_mine)
    mine, theirs = respelled(mine, by_theirs), respelled(theirs, by_mine)
    merged = merge_fields(base, mine, theirs, but=("columns", "types"))
    columns = _merge_parts(base.columns, mine.columns, theirs.columns, lambda column: column.id)
    types = _merge_parts(base.types, mine.types, theirs.types, lambda definition: definition.id)
    used = {(column.type.schema, column.type.name) for column in columns} - {(t.schema, t.name) for t in types}
    still = [t for t in base.types if (t.schema, t.name) in used]  # one stopped using it, the other began to
    return replace(merged, columns=tuple(sorted(columns, key=lambda column: column.id)), types=(*still, *types))


def merge_fields(base: Part, mine: Part, theirs: Part, but: Sequence[str] = ()) -> Part:
    """Return `mine` with each field that only `theirs` changed, but for the fields in `but`."""
    changed = {
        name: getattr(theirs, name)
        for name in (f.name for f in fields(mine) if f.name not in but)
        if getattr(mine, name) == getattr(base, name)
    }
    return replace(mine, **changed)


def _merge_parts(
    base: Sequence[Part], mine: Sequence[Part], theirs: Sequence[Part], identity: Callable[[Part], Hashable]
) -> list[Part]:
    """Return the parts in the order of `mine`; one that only `theirs` has precedes the part that it precedes there."""
    old, ours, new = ({identity(part): part for part in parts} for parts in (base, mine, theirs))
    waiting = [key for key in new if key not in ours and key not in old]
    place = {key: i for i, key in enumerate(new)}
    merged: list[Part] = []
    for key, part in ours.items():
        while waiting and key in place and place[waiting[0]] < place[key]:
            merged.append(new[waiting.pop(0)])
        if key in new:
            merged.append(merge_fields(old[key], part, new[key]) if key in old else part)
        elif key not in old:
            merged.append(part)
    return merged + [new[key] for key in waiting]
