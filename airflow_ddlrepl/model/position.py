"""This module defines positions in a source's log.

A position P stands between transactions: everything whose commit record starts before P lies
before it. A LogKey orders the single changes inside the log: first by the commit record of their
transaction, then by their ordinal in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from airflow_ddlrepl.errors import ConfigError


class Position(int):
    """A position in a source's log is an integer that grows along it.

    It prints in two halves like `0/16B3748`, whatever log it is of: files, JSON and messages have it so.
    """

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that prints as this text; raise ConfigError CFG-110 when the text is no position."""
        high, slash, low = text.strip().partition("/")
        try:
            if not slash:
                raise ValueError
            return cls((int(high, 16) << 32) + int(low, 16))
        except ValueError:
            raise ConfigError(
                f"{text!r} is not a position",
                code="CFG-110",
                hint="a position looks like 0/16B3748, as status prints it",
            ) from None

    def __str__(self) -> str:
        return f"{self >> 32:X}/{self & 0xFFFFFFFF:X}"

    def __repr__(self) -> str:
        return f"Position({str(self)!r})"


class LogKey(NamedTuple):
    """A log key is the place of one change: its transaction's commit record, then its ordinal in that (from 0)."""

    lsn: int
    seq: int

    @classmethod
    def last_before(cls, position: Position) -> LogKey:
        """Return the last place in the log in front of a position."""
        return cls(position - 1, LAST_IN_TRANSACTION)

    def __str__(self) -> str:
        return f"{Position(self.lsn)}+{self.seq}"


START_OF_TRANSACTION = -1
LAST_IN_TRANSACTION = (1 << 62) - 1


_ANY = (Position(0), Position(1 << 64))


class Snapshot(NamedTuple):
    """A snapshot says which transactions a refresh has seen: pg_current_snapshot() and the log positions around it.

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

    def covers(self, other: Snapshot) -> bool:
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
    def parse(cls, text: str) -> Snapshot:
        """Return the snapshot of pg_snapshot's text; it has no positions, so transaction ids alone decide."""
        xmin, xmax, running = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(map(int, running.split(","))) if running else frozenset(), *_ANY)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Snapshot:
        """Return the snapshot that `to_json` wrote."""
        return cls(
            int(data["xmin"]),
            int(data["xmax"]),
            frozenset(data["running"]),
            Position.parse(str(data["low"])),
            Position.parse(str(data["high"])),
        )
