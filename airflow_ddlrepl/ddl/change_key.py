"""The replication key: primary key or the unique index that stands in for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.change import TableChange
from airflow_ddlrepl.model.table import Key, Table


@dataclass(frozen=True, slots=True)
class ChangeKey(TableChange):
    """columns: the names of the key's columns at that moment, for people."""

    kind: ClassVar[str] = "change_key"
    old: Key | None
    new: Key | None
    columns: tuple[str, ...] = ()

    def alter(self, table: Table) -> Table:
        return table.with_(key=self.new)

    def describe(self) -> str:
        if self.new is None:
            return "dropped"
        return f"{'primary key' if self.new.is_primary else 'unique'} ({', '.join(self.columns)})"

    @property
    def hazards(self) -> tuple[str, ...]:
        return ("a table without a key is compared and applied by whole rows",) if self.new is None else ()


def spot(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Columns, their order or the sort of key differ; the key's name does not count."""
    if _same(old.key, new.key):
        return
    yield ChangeKey(old.key, new.key, tuple(c.name for c in new.key_columns()))


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeKey]:
    """The old key goes first, so that its columns may go or become nullable."""
    if old.key is not None and not _same(old.key, new.key):
        yield ChangeKey(old.key, None)


def _same(one: Key | None, other: Key | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.columns, one.is_primary) == (other.columns, other.is_primary)
