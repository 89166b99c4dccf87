"""This module follows rows whose key changes, one by one, to the key that each of them has at the end.

Swaps, chains and keys used again are decided by following each row from the key it had in the
target (its base) to the key it has at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from airflow_ddlrepl.model.change import Op


class Kind(IntEnum):
    """A kind of operation is what one row of the target needs: DELETE, UPDATE, MOVE to another key, or INSERT."""

    DELETE = 0
    UPDATE = 1
    MOVE = 2
    INSERT = 3


@dataclass(slots=True)
class Living:
    """A living row is what changes have made of one row so far: its key in the target, and where its values are.

    base: its key in the target at the start, -1 when it was not there. last: its newest change, -1 when
    untouched. value_at: per column that is sometimes absent the newest change that has its value.
    """

    base: int
    last: int
    value_at: list[int]


@dataclass(frozen=True, slots=True)
class Fate:
    """A fate is the operation that one row needs: its kind, base key, final key and its values' places (as Living)."""

    kind: Kind
    base: int
    key: int
    last: int
    value_at: Sequence[int]


@dataclass(slots=True)
class Follower:
    """A follower applies changes to rows in log order; `width` is how many columns are sometimes absent."""

    width: int
    living: dict[int, Living] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)

    def step(self, row: int, op: int, old: int, new: int, has_value: Sequence[bool]) -> None:
        """Apply one change: its row number, operation, key before and after, and which columns it has a value of."""
        if op == Op.INSERT:
            stays = self.living.get(new)  # deleted, and at the target still
            self.living[new] = Living(stays.base if stays else -1, row, [row] * self.width)
            return
        entry = self.living.pop(old, None)
        if entry is None:
            entry = Living(old, -1, [-1] * self.width)
        if op == Op.DELETE:
            if entry.base >= 0:
                self.dead.add(entry.base)
            return
        entry.last = row
        entry.value_at = [row if is_present else before for is_present, before in zip(has_value, entry.value_at)]
        if (displaced := self.living.get(new)) is not None and displaced.base >= 0:
            self.dead.add(displaced.base)
        self.living[new] = entry

    def fates(self) -> Iterator[Fate]:
        """Yield the one operation that each row needs for all its changes together.

        A deleted row whose key is inserted again is an update of every column.
        """
        dead = set(self.dead)
        for key, row in self.living.items():
            if row.base >= 0:
                kind = Kind.UPDATE if row.base == key else Kind.MOVE
                yield Fate(kind, row.base, key, row.last, row.value_at)
            elif key in dead:
                dead.discard(key)
                yield Fate(Kind.UPDATE, key, key, row.last, row.value_at)
            else:
                yield Fate(Kind.INSERT, -1, key, row.last, row.value_at)
        for key in dead:
            yield Fate(Kind.DELETE, key, -1, -1, ())
