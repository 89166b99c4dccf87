"""This module compares two tables by the aspects that a caller asks for, even when they are on different servers.

Two shapes of one table with the same identities are equal when `==` says so; what changes lead from one to the other is
`ddl.diff`'s question. Here columns are matched by name, and spellings of a type or of an expression are no difference.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.sql.lexer import canonical


class Aspect(Enum):
    """An aspect is a part of a shape that decides what rows a table can hold, or how two rows are distinguished."""

    MISSING_COLUMN = auto()
    EXTRA_COLUMN = auto()
    TYPE = auto()
    NULLABLE = auto()
    GENERATED = auto()
    KEY = auto()
    SECOND_KEY = auto()
    PARTITION_KEY = auto()


COLUMNS = frozenset({Aspect.MISSING_COLUMN, Aspect.EXTRA_COLUMN, Aspect.TYPE, Aspect.NULLABLE, Aspect.GENERATED})
EVERY = frozenset(Aspect)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference says in which aspect two tables differ.

    column: the name of the column that it is about; empty: it is the table's.
    """

    aspect: Aspect
    column: str = ""


def differences(wanted: Table, found: Table, about: Container[Aspect] = EVERY) -> Iterator[Difference]:
    """Yield the differences between two tables: column by column, then the table's own. about: aspects that count."""
    return (one for one in _differences(wanted, found) if one.aspect in about)


def same_type(one: DataType, other: DataType) -> bool:
    """Return whether two types are the same, however they are spelled."""
    return canonical(one.text) == canonical(other.text)


def partitioned_alike(one: Table, other: Table) -> bool:
    """Return whether both tables are partitioned in the same way, however it is spelled, or both not at all."""
    return canonical(one.partition_key or "") == canonical(other.partition_key or "")


def _differences(wanted: Table, found: Table) -> Iterator[Difference]:
    there = {column.name: column for column in found.columns}
    for column in wanted.columns:
        twin = there.pop(column.name, None)
        aspects = (Aspect.MISSING_COLUMN,) if twin is None else _of_columns(column, twin)
        yield from (Difference(aspect, column.name) for aspect in aspects)
    yield from (Difference(Aspect.EXTRA_COLUMN, name) for name in there)
    if key_names(wanted, wanted.key) != key_names(found, found.key):
        yield Difference(Aspect.KEY)
    one, other = wanted.second_key, found.second_key
    how = one.deferrable if one else "", other.deferrable if other else ""
    if key_names(wanted, one) != key_names(found, other) or how[0] != how[1]:
        yield Difference(Aspect.SECOND_KEY)
    if not partitioned_alike(wanted, found):
        yield Difference(Aspect.PARTITION_KEY)


def _of_columns(one: Column, other: Column) -> Iterator[Aspect]:
    if not same_type(one.type, other.type):
        yield Aspect.TYPE
    if one.nullable != other.nullable:
        yield Aspect.NULLABLE
    if one.generated != other.generated:
        yield Aspect.GENERATED


def key_names(table: Table, key: Key | None) -> tuple[str, ...]:
    """Return the names of a key's columns; empty where there is no key."""
    return tuple(table.column(i).name for i in key.columns) if key else ()
