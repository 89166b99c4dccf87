"""ALTER COLUMN … TYPE changes a column's type: to a wider or narrower one, or to another one by conversion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.types import TypeSystem


class Extent(StrEnum):
    """The extent of a type change says what may happen to the values that rows already have.

    widen: every old value is valid and unchanged. narrow: the reverse of a widening. collate: only the collation
    changes. convert: all else.
    """

    WIDEN = "widen"
    NARROW = "narrow"
    CONVERT = "convert"
    COLLATE = "collate"


class Using(StrEnum):
    """This value says how the target computes the new values of its existing rows.

    assign: by the server's own assignment cast, as the source did. explicit: by an explicit cast, best effort.
    by_text: over a cast to text. as_written: over the text that the old type writes. empty: there are no rows.
    """

    ASSIGN = "assign"
    EXPLICIT = "explicit"
    BY_TEXT = "by text"
    AS_WRITTEN = "as written"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class ChangeType(TableChange):
    """This change sets a column's type, its collation or both.

    It prints its extent (widen, narrow, convert, collate) behind the types. may_lose: the new type may round, cut or
    refuse values.
    """

    kind: ClassVar[str] = "change_type"
    id: int
    name: str
    old: Column
    type: DataType
    collation: str | None
    extent: Extent
    may_lose: bool = False
    using: Using = Using.ASSIGN

    @classmethod
    def between(cls, before: Column, after: Column, types: TypeSystem) -> ChangeType:
        """Return the change from one form of a column to the other. types: of the database that makes it."""
        extent = extent_between(before, after, types)
        is_safe = extent in (Extent.WIDEN, Extent.COLLATE) or types.holds_any_text(after.type)
        return cls(after.id, after.name, before, after.type, after.collation, extent, not is_safe)

    def alter(self, table: Table) -> Table:
        """Return the table with the column's new type and collation."""
        return edit_column(table, self.id, type=self.type, collation=self.collation)

    def describe(self) -> str:
        """Return the column's name, both types, the new collation and the extent."""
        collation = f" collate {self.collation}" if self.collation else ""
        return f"{self.name} {self.old.type.text} -> {self.type.text}{collation} ({self.extent})"

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning where the new type may round, cut or refuse values."""
        return (f"column {self.name}: the new type may round, cut or refuse values",) if self.may_lose else ()


def extent_between(before: Column, after: Column, types: TypeSystem) -> Extent:
    """Return what may happen to the values of a column that gets another type: widen, narrow, convert or collate."""
    if _is_respelled(before, after):
        return Extent.COLLATE
    if types.widens(before.type, after.type):
        return Extent.WIDEN
    return Extent.NARROW if types.widens(after.type, before.type) else Extent.CONVERT


def _is_respelled(before: Column, after: Column) -> bool:
    """Return whether the type is the same one, so that only the collation or the spelling can differ."""
    return before.type.id == after.type.id and same_type(before.type, after.type)


def retyped(old: Table, new: Table) -> Iterator[tuple[Column, Column]]:
    """Yield the columns of both shapes whose type or collation differs; its spelling does not count."""
    for before, after in shared_columns(old, new):
        same = _is_respelled(before, after) and before.type.modifier == after.type.modifier
        if not same or before.collation != after.collation:
            yield before, after


def spot(old: Table, new: Table, types: TypeSystem) -> Iterator[ChangeType]:
    """Yield a change for each column of both shapes whose type or collation differs."""
    return (ChangeType.between(before, after, types) for before, after in retyped(old, new))
