"""This module defines which transactions a snapshot of PostgreSQL contains."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from airflow_ddlrepl.model.position import Position

_TEXT = re.compile(r"\d+:\d+:[\d,]*")
_ANY = (Position(0), Position(1 << 64))


class XidSnapshot(NamedTuple):
    """A snapshot of PostgreSQL is a set of transaction ids, pg_current_snapshot(), and the log positions around it.

    low: every transaction that commits before it is visible. high: none that commits at or after it is.
    xids are 64-bit.
    """

    xmin: int
    xmax: int
    running: frozenset[int]
    low: Position
    high: Position

    def sees(self, lsn: int, xid: int) -> bool:
        """Return whether the snapshot contains the transaction with this commit position and 32-bit xid."""
        if lsn < self.low:
            return True
        if lsn >= self.high:
            return False
        return self.has(self.widen(xid))

    def has(self, xid: int) -> bool:
        """Return whether the snapshot contains the committed transaction with this 64-bit xid."""
        return xid < self.xmin or (xid < self.xmax and xid not in self.running)

    @property
    def is_quiet(self) -> bool:
        """Return whether no older transaction was running when the snapshot was taken."""
        return not self.running

    def covers(self, other: XidSnapshot) -> bool:
        """Return whether the snapshot contains every transaction that `other` contains."""
        return self.xmax >= other.xmax and not any(other.has(xid) for xid in self.running)

    def widen(self, xid: int) -> int:
        """Return the 64-bit xid that ends in these 32 bits and is nearest to the snapshot's own."""
        epoch = self.xmax >> 32
        return min(
            ((epoch + step) << 32 | xid for step in (-1, 0, 1) if epoch + step >= 0), key=lambda x: abs(x - self.xmax)
        )

    def to_json(self) -> dict[str, object]:
        """Return the snapshot as a JSON object."""
        return {
            "xmin": self.xmin,
            "xmax": self.xmax,
            "running": sorted(self.running),
            "low": str(self.low),
            "high": str(self.high),
        }

    def __str__(self) -> str:
        """Return pg_snapshot's text, without the positions: `xmin:xmax:running,…`."""
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, sorted(self.running)))}"

    @classmethod
    def parse(cls, text: str) -> XidSnapshot:
        """Return the snapshot of pg_snapshot's text; it has no positions, so transaction ids alone decide."""
        xmin, xmax, running = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(map(int, running.split(","))) if running else frozenset(), *_ANY)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> XidSnapshot:
        """Return the snapshot that `to_json` wrote."""
        return cls(
            int(data["xmin"]),
            int(data["xmax"]),
            frozenset(data["running"]),
            Position.parse(str(data["low"])),
            Position.parse(str(data["high"])),
        )


def stored_snapshot(stored: str | dict[str, Any]) -> XidSnapshot | None:
    """Return the snapshot of a stored text or JSON object; None where it is of another kind of log."""
    if isinstance(stored, str):
        return XidSnapshot.parse(stored) if _TEXT.fullmatch(stored) else None
    return XidSnapshot.from_json(stored) if "xmin" in stored else None
