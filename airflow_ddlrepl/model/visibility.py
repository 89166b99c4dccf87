"""This module defines snapshots of a source: which of its transactions one look at the source has seen.

Each kind of log has its own class of snapshots, which its engine defines.
"""

from __future__ import annotations

from collections.abc import Callable
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


Stored = str | dict[str, Any]
"""What is stored of a snapshot: its text, without the positions around it, or its JSON object."""
_readers: list[Callable[[Stored], Visibility | None]] = []


def read_with(reader: Callable[[Stored], Visibility | None]) -> None:
    """Let this function read stored snapshots, in this process. It returns None for those that it does not know."""
    _readers.append(reader)


def stored_visibility(stored: Stored) -> Visibility:
    """Return the snapshot that is stored so; of a text, which has no positions, transaction ids alone decide."""
    found = next((found for reader in _readers if (found := reader(stored)) is not None), None)
    if found is None:
        raise ValueError(f"{stored!r} is a snapshot of no engine")
    return found
