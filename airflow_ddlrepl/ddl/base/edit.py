"""These functions edit frozen table shapes and normalize them, so that equal shapes compare as equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import MAX_NAME_BYTES, TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition
from airflow_ddlrepl.sql.lexer import canonical


def edit_column(table: Table, column_id: int, **changes: Any) -> Table:
    """Return the table with some attributes of one column replaced."""
    columns = tuple(replace(c, **changes) if c.id == column_id else c for c in table.columns)
    return table.with_(columns=columns)


def shared_columns(old: Table, new: Table) -> tuple[tuple[Column, Column], ...]:
    """Return pairs (before, after) of the columns that both shapes have by identity, in the new order."""
    before = {c.id: c for c in old.columns}
    return tuple((before[c.id], c) for c in new.columns if c.id in before)


def free_name(wish: str, taken: Container[str]) -> str:
    """Return the wished name, with a number where it is taken, cut so that no engine refuses it."""
    for n in range(10_000):
        suffix = f"_{n}" if n else ""
        name = wish.encode()[: MAX_NAME_BYTES - len(suffix)].decode(errors="ignore") + suffix
        if name not in taken:
            return name
    raise ValueError(f"no free name like {wish!r}")


def renames_in_order(renames: Mapping[int, tuple[str, str]], in_use: frozenset[str]) -> list[tuple[int, str, str]]:
    """Return single renames (id, from, to) that never use a name which is taken; a swap uses a free name between.

    in_use: every name in use at the start. Raises Unsupported ADP-112 when two parts would have one name at the end.
    """
    stays = in_use - {source for source, _ in renames.values()}
    for name, count in Counter([*stays, *(to for _, to in renames.values())]).items():
        if count > 1:
            raise Unsupported(
                f"two columns, attributes or tables would have the name {name} after their renames",
                code="ADP-112",
                hint="rename one of them at the source",
            )
    names = set(in_use)
    waiting = {i: pair for i, pair in renames.items() if pair[0] != pair[1]}
    done: list[tuple[int, str, str]] = []
    while waiting:
        ready = next((i for i, (_, to) in waiting.items() if to not in names), None)
        if ready is None:
            ready = next(iter(waiting))
            source, to = waiting[ready]
            aside = free_name(f"ddlrepl_swap_{ready}", frozenset(names))
            waiting[ready] = (aside, to)
            done.append((ready, source, aside))
            names = names - {source} | {aside}
            continue
        source, to = waiting.pop(ready)
        done.append((ready, source, to))
        names = names - {source} | {to}
    return done


def comparable(table: Table) -> Table:
    """Return the shape without what no target needs to follow; two shapes count as equal when these results are equal.

    Left out: the values that rows older than a column show (they vanish when the server rewrites the
    table), names of keys, the current name of the partition's parent, spelling and order of types.
    """
    return table.with_(
        columns=tuple(_settled_column(c) for c in table.columns),
        key=_unnamed(table.key),
        second_key=_unnamed(table.second_key),
        partition=replace(table.partition, of_name=TableName("", "")) if table.partition else None,
        partition_key=canonical(table.partition_key) if table.partition_key else None,
        types=tuple(sorted((_settled_definition(t) for t in table.types), key=lambda t: t.id)),
    )


def _unnamed(key: Key | None) -> Key | None:
    return replace(key, name="") if key else None


@lru_cache(4096)
def _settled_column(column: Column) -> Column:
    default = canonical(column.default) if column.generated and column.default else column.default
    return replace(column, missing=None, type=_settled_type(column.type), default=default)


def _settled_type(of: DataType) -> DataType:
    return replace(of, text=canonical(of.text))


@lru_cache(4096)
def _settled_definition(of: TypeDefinition) -> TypeDefinition:
    return replace(
        of,
        base=canonical(of.base) if of.base else None,
        attributes=tuple(replace(a, type=canonical(a.type)) for a in of.attributes),
        constraints=tuple(sorted(of.constraints)),
    )
