"""ALTER TABLE … ADD/DROP PRIMARY KEY and UNIQUE change the key that identifies a table's rows.

The replication key is the primary key or the unique index that serves instead of it; a deferrable primary key is
separate from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Key, Table


@dataclass(frozen=True, slots=True)
class ChangeKey(TableChange):
    """This change adds, drops or alters a key of a table.

    columns: the names of the new key's columns, for people.
    """

    kind: ClassVar[str] = "change_key"
    old: Key | None
    new: Key | None
    columns: tuple[str, ...] = ()

    def alter(self, table: Table) -> Table:
        """Return the table with the new key."""
        return table.with_(deferrable_key=self.new) if self.is_deferrable else table.with_(key=self.new)

    @property
    def is_deferrable(self) -> bool:
        """Return whether the change is about the deferrable primary key, which is never the replication key."""
        key = self.new or self.old
        return key is not None and bool(key.deferrable)

    def describe(self) -> str:
        """Return the new key's sort and columns, or "dropped"."""
        if self.new is None:
            return "deferrable dropped" if self.is_deferrable else "dropped"
        how = f" deferrable initially {self.new.deferrable}" if self.new.deferrable else ""
        return f"{'primary key' if self.new.is_primary else 'unique'} ({', '.join(self.columns)}){how}"

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning where the table has no replication key afterwards."""
        if self.new is not None or self.is_deferrable:
            return ()
        return ("a table without a key is compared and applied by whole rows",)


def spot(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Yield a change for each key that differs in its columns, their order, its sort or when it is checked.

    The key's name does not count.
    """
    for before, after in _pairs(old, new):
        yield ChangeKey(before, after, tuple(new.column(i).name for i in after.columns) if after else ())


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Yield the changes that drop an old key first, so that its columns can be dropped or become nullable."""
    yield from (ChangeKey(before, None) for before, _ in _pairs(old, new) if before is not None)


def _pairs(old: Table, new: Table) -> Iterator[tuple[Key | None, Key | None]]:
    pairs = ((old.key, new.key), (old.deferrable_key, new.deferrable_key))
    return ((before, after) for before, after in pairs if not _same(before, after))


def _same(one: Key | None, other: Key | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.columns, one.is_primary, one.deferrable) == (other.columns, other.is_primary, other.deferrable)
