"""This module defines a database sequence: how it counts, how far it has come, and which columns draw from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class SequenceDefinition:
    """A sequence's definition says how it counts: what CREATE SEQUENCE and ALTER SEQUENCE can set.

    type: `smallint`, `integer` or `bigint`.
    """

    type: str
    start: int
    increment: int
    minimum: int
    maximum: int
    cache: int
    cycles: bool

    def includes(self, number: int) -> bool:
        """Return whether the sequence may have this number."""
        return self.minimum <= number <= self.maximum


class SequenceValue(NamedTuple):
    """A sequence's value says how far it has come: the number that it gave last, or gives next if `is_called` is false.

    It is as the server stores it, so that `setval` with both makes another sequence the same.
    """

    last: int
    is_called: bool

    def place(self, increment: int) -> tuple[int, bool]:
        """Return a value that grows with each number that a sequence of this increment gives."""
        return (self.last if increment > 0 else -self.last, self.is_called)


class ColumnPlace(NamedTuple):
    """A column's place is a column of a table on a server, by the server's numbers and by names."""

    table_id: int
    column_id: int
    table: TableName
    column: str


@dataclass(frozen=True, slots=True)
class DbSequence:
    """A sequence of a database.

    id: the server's identity of it, which survives renames. owner: the column that it goes with.
    is_identity: it is that of an identity column. may_read, may_write: the role has the right to.
    """

    id: int
    name: TableName
    definition: SequenceDefinition
    owner: ColumnPlace | None = None
    is_identity: bool = False
    may_read: bool = True
    may_write: bool = True


@dataclass(frozen=True, slots=True)
class SequenceDefault:
    """A sequence default is a column's default that draws from sequences.

    pieces: the expression, in pieces of text and, where it names a sequence, the sequence's id.
    """

    at: ColumnPlace
    type: str
    pieces: tuple[str | int, ...]

    @property
    def sequence_ids(self) -> frozenset[int]:
        """Return the ids of the sequences that the default names."""
        return frozenset(piece for piece in self.pieces if isinstance(piece, int))


@dataclass(frozen=True, slots=True)
class SequenceCatalog:
    """A sequence catalog has a server's sequences, and the defaults that draw from them, at one moment.

    values: of those that were asked for. locked: ids of tables and sequences that an open transaction is altering:
    nothing is known of them.
    """

    sequences: Mapping[int, DbSequence] = field(default_factory=dict)
    defaults: tuple[SequenceDefault, ...] = ()
    values: Mapping[int, SequenceValue] = field(default_factory=dict)
    locked: frozenset[int] = frozenset()
