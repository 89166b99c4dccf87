"""This module defines snapshots of a source: which of its transactions one look at the source has seen.

A kind of log whose snapshots do not lie at a position of it has its own class of snapshots, which its engine defines.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, Self

from airflow_ddlrepl.model.position import Position


class Visibility(Protocol):
    """A visibility says which transactions a snapshot of the source contains; each kind of log has its own.

    It prints as a text that `stored_visibility` reads.
    """

    @property
    def high(self) -> Position:
        """Return the position that no transaction of the snapshot commits at or behind."""
        ...

    def sees(self, lsn: int, transaction_id: int) -> bool:
        """Return whether the snapshot contains the transaction with this commit position and id in the log."""
        ...

    def has(self, transaction_id: int) -> bool:
        """Return whether the snapshot contains the committed transaction with this id, as `widen` returns it."""
        ...

    @property
    def is_quiet(self) -> bool:
        """Return whether no older transaction was running when the snapshot was taken."""
        ...

    def covers(self, other: Self) -> bool:
        """Return whether the snapshot contains every transaction that `other` contains."""
        ...

    def widen(self, transaction_id: int) -> int:
        """Return the id that never repeats, of the transaction whose id in the log this is."""
        return transaction_id

    def to_json(self) -> dict[str, object]:
        """Return the visibility as a JSON object, which `stored_visibility` reads."""
        ...


@dataclass(frozen=True, slots=True)
class SnapshotAt(Visibility):
    """A snapshot at a position contains the transactions that commit before it; it prints as `@0/16B3748`.

    The id of a transaction is, in such a log, the position of its commit.
    """

    high: Position

    def sees(self, lsn: int, transaction_id: int) -> bool:
        """Return whether a transaction commits before the position."""
        return lsn < self.high

    def has(self, transaction_id: int) -> bool:
        """Return whether the transaction commits before the position."""
        return transaction_id < self.high

    @property
    def is_quiet(self) -> bool:
        """Return True: what was running when the snapshot was taken commits behind the position."""
        return True

    def covers(self, other: Self) -> bool:
        """Return whether the other position is not behind this one."""
        return other.high <= self.high

    def to_json(self) -> dict[str, object]:
        """Return the position as a JSON object."""
        return {"at": str(self.high)}

    def __str__(self) -> str:
        return f"@{self.high}"


Stored = str | dict[str, Any]
"""What is stored of a snapshot: its text, without the positions around it, or its JSON object."""


def stored_visibility(stored: Stored) -> Visibility:
    """Return the snapshot that is stored so; of a text, which has no positions, transaction ids alone decide.

    Raises ValueError for what no engine has stored.
    """
    at = stored[1:] if isinstance(stored, str) and stored.startswith("@") else None
    if isinstance(stored, dict):
        at = stored.get("at")
    if at is not None:
        return SnapshotAt(Position.parse(at))
    # Only an engine knows its snapshots. The model imports none: it finds them by name when one is read.
    found: Visibility | None = import_module("airflow_ddlrepl.engines").stored_snapshot(stored)
    if found is None:
        raise ValueError(f"{stored!r} is a snapshot of no engine")
    return found
