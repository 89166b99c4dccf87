"""This module defines positions in a source's log.

A position P lies between transactions: everything whose commit record starts before P lies
before it. A LogKey orders the single changes inside the log: first by the commit record of their
transaction, then by their ordinal in it.
"""

from __future__ import annotations

from typing import NamedTuple

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

    @property
    def next(self) -> Position:
        """Return the position just behind the transaction whose commit record starts here."""
        return Position(self + 1)

    @property
    def previous(self) -> Position:
        """Return the last position where a transaction in front of this one can have its commit record."""
        return Position(self - 1)

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
        return cls(position.previous, LAST_IN_TRANSACTION)

    @property
    def behind(self) -> Position:
        """Return the position just behind the change's transaction."""
        return Position(self.lsn).next

    @property
    def next(self) -> LogKey:
        """Return the place behind the change, in its transaction."""
        return LogKey(self.lsn, self.seq + 1)

    @property
    def previous(self) -> LogKey:
        """Return the place in front of the change, in its transaction."""
        return LogKey(self.lsn, self.seq - 1)

    def __str__(self) -> str:
        """Return `0/16B3748+2`: the third change of the transaction that ends there; without a number: all of it."""
        is_whole = self.seq in (START_OF_TRANSACTION, LAST_IN_TRANSACTION)
        return str(Position(self.lsn)) if is_whole else f"{Position(self.lsn)}+{self.seq}"


START_OF_TRANSACTION = -1
LAST_IN_TRANSACTION = (1 << 62) - 1
BEGINNING = LogKey(0, START_OF_TRANSACTION)
"""The place in front of all changes of a log."""
END = LogKey(1 << 62, 0)
"""The place behind all changes of a log."""
