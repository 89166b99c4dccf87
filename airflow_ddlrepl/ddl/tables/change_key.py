"""The replication key: primary key or the unique index that stands in for it; a deferrable primary key beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Key, Table


@dataclass(frozen=True, slots=True)
class ChangeKey(TableChange):
    """columns: the names of the key's columns at that moment, for people."""

    kind: ClassVar[str] = "change_key"
    old: Key | None
    new: Key | None
    columns: tuple[str, ...] = ()

    def alter(self, table: Table) -> Table:
        return table.with_(deferrable_key=self.new) if self.is_deferrable else table.with_(key=self.new)

    @property
    def is_deferrable(self) -> bool:
        """Is it about the primary key that is no replication key?"""
        key = self.new or self.old
        return key is not None and bool(key.deferrable)

    def describe(self) -> str:
        if self.new is None:
            return "deferrable dropped" if self.is_deferrable else "dropped"
        how = f" deferrable initially {self.new.deferrable}" if self.new.deferrable else ""
        return f"{'primary key' if self.new.is_primary else 'unique'} ({', '.join(self.columns)}){how}"

    @property
    def hazards(self) -> tuple[str, ...]:
        if self.new is not None or self.is_deferrable:
            return ()
        return ("a table without a key is compared and applied by whole rows",)


def spot(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Columns, their order, the sort of key or when it is checked differ; the key's name does not count."""
    for before, after in _pairs(old, new):
        yield ChangeKey(before, after, tuple(new.column(i).name for i in after.columns) if after else ())


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeKey]:
    """The old key goes first, so that its columns may go or become nullable."""
    yield from (ChangeKey(before, None) for before, _ in _pairs(old, new) if before is not None)


def _pairs(old: Table, new: Table) -> Iterator[tuple[Key | None, Key | None]]:
    pairs = ((old.key, new.key), (old.deferrable_key, new.deferrable_key))
    return ((before, after) for before, after in pairs if not _same(before, after))


def _same(one: Key | None, other: Key | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.columns, one.is_primary, one.deferrable) == (other.columns, other.is_primary, other.deferrable)
