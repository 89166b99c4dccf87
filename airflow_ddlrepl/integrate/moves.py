"""Rows whose key changed, one by one: who ends up where.

Swaps, chains and keys used again are decided by following each row from the key it had in the
target (its base) to the key it has at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from airflow_ddlrepl.model.change import Op


class Kind(IntEnum):
    """What has to happen to a row of the target."""

    DELETE = 0
    UPDATE = 1
    MOVE = 2
    INSERT = 3


@dataclass(slots=True)
class Living:
    """A row as it stands after some changes.

    base: its key in the target at the start, -1 when it was not there. last: its newest change, -1 when
    untouched. held: per column that is sometimes absent the newest change that told its value.
    """

    base: int
    last: int
    held: list[int]


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one row: kind, its base key, its final key, its values' places (as Living)."""

    kind: Kind
    base: int
    key: int
    last: int
    held: Sequence[int]


@dataclass(slots=True)
class Follower:
    """Follows rows through changes in log order. width: how many columns are sometimes absent."""

    width: int
    living: dict[int, Living] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)

    def step(self, row: int, op: int, old: int, new: int, told: Sequence[bool]) -> None:
        """One change: row number, operation, key before and after, which columns it told."""
        if op == Op.INSERT:
            self.living[new] = Living(-1, row, [row] * self.width)
            return
        entry = self.living.pop(old, None)
        if entry is None:
            entry = Living(old, -1, [-1] * self.width)
        if op == Op.DELETE:
            if entry.base >= 0:
                self.dead.add(entry.base)
            return
        entry.last = row
        entry.held = [row if is_told else before for is_told, before in zip(told, entry.held)]
        self.living[new] = entry

    def fates(self) -> Iterator[Fate]:
        """What to do in all. A deleted row whose key is inserted again is an update of every column."""
        dead = set(self.dead)
        for key, row in self.living.items():
            if row.base >= 0:
                kind = Kind.UPDATE if row.base == key else Kind.MOVE
                yield Fate(kind, row.base, key, row.last, row.held)
            elif key in dead:
                dead.discard(key)
                yield Fate(Kind.UPDATE, key, key, row.last, row.held)
            else:
                yield Fate(Kind.INSERT, -1, key, row.last, row.held)
        for key in dead:
            yield Fate(Kind.DELETE, key, -1, -1, ())
