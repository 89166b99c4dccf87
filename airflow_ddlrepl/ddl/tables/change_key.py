"""ALTER TABLE … ADD/DROP PRIMARY KEY and UNIQUE change the keys of a table.

The replication key is the primary key or the unique index that serves instead of it; a primary key that can't serve
stays beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Key, Table


@dataclass(frozen=True, slots=True)
class ChangeKey(TableChange):
    """This change adds or drops a key of a table, or lets another of its keys be the replication key.

    old, new: the key before and after; equal, but for their names, where only the replication key is another one.
    columns: the names of the new key's columns, for people. key, second_key: of the table after the change.
    """

    kind: ClassVar[str] = "change_key"
    old: Key | None
    new: Key | None
    columns: tuple[str, ...] = ()
    key: Key | None = None
    second_key: Key | None = None

    def alter(self, table: Table) -> Table:
        """Return the table with the keys that it has after the change."""
        return table.with_(key=self.key, second_key=self.second_key)

    @property
    def is_of_role(self) -> bool:
        """Return whether all keys stay, and only another one is the replication key, or none is."""
        return self.old is not None and self.new is not None

    def as_role(self) -> ChangeKey:
        """Return the part of the change that only says which of the table's keys is the replication key."""
        about = self.new or self.old
        return replace(self, old=about, new=about)

    def describe(self) -> str:
        """Return the new key's sort and columns, or "dropped"."""
        if self.new is None:
            return "deferrable dropped" if self.old and self.old.deferrable else "dropped"
        how = f" deferrable initially {self.new.deferrable}" if self.new.deferrable else ""
        role = " is the replication key" if self.key == self.new else " is not the replication key"
        sort = "primary key" if self.new.is_primary else "unique"
        return f"{sort} ({', '.join(self.columns)}){how}{role if self.is_of_role else ''}"

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning where the table loses its replication key."""
        key = self.old if self.new is None else None
        if key is None or key.deferrable or self.key is not None:
            return ()
        return ("a table without a key is compared and applied by whole rows",)


def spot(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Yield a change for each key that the old table lacks, and one where another of its keys is the replication key.

    The key's name does not count.
    """
    there = list(old.keys)
    for key in new.keys:
        if _twin(key, there) is None:
            there.append(key)
            yield ChangeKey(None, key, _names(new, key), *_roles(new, there))
    roles = _roles(new, there)
    if len(there) == len(old.keys) and roles != (old.key, old.second_key):
        moved = roles[0] or roles[1]
        if moved is not None:
            yield ChangeKey(moved, moved, _names(new, moved), *roles)


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeKey]:
    """Yield the changes that drop an old key first, so that its columns can be dropped or become nullable."""
    there = list(old.keys)
    for key in old.keys:
        if _twin(key, new.keys) is None:
            there.remove(key)
            yield ChangeKey(key, None, (), *_roles(old, there))


def is_same_key(one: Key | None, other: Key | None) -> bool:
    """Return whether two keys are alike in their columns, their order, their sort and when they are checked."""
    if one is None or other is None:
        return one is other
    return (one.columns, one.is_primary, one.deferrable) == (other.columns, other.is_primary, other.deferrable)


def _twin(key: Key, among: Sequence[Key]) -> Key | None:
    return next((other for other in among if is_same_key(key, other)), None)


def _roles(like: Table, there: Sequence[Key]) -> tuple[Key | None, Key | None]:
    """Return which of the keys that are there is the replication key, and which the primary key beside it."""
    first, second = (_twin(key, there) if key else None for key in (like.key, like.second_key))
    return first, second


def _names(table: Table, key: Key) -> tuple[str, ...]:
    return tuple(table.column(i).name for i in key.columns)
