"""This module is the port of sequences: what the stages ask of a source's sequences, and do to those of a target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import DdlReplError, StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import ColumnPlace, SequenceCatalog, SequenceDefinition, SequenceValue

Choose = Callable[[SequenceCatalog], Collection[int]]
"""This function returns the ids of the sequences whose values are wanted, from a catalog without values."""


@dataclass(frozen=True, slots=True)
class TrackedSequence:
    """A tracked sequence is what a target knows of a source's sequence.

    name: at the target. seen: the source's value when the target's was last compared with it.
    """

    name: TableName
    seen: SequenceValue


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """A sequence step brings one sequence of a target to what the source's is.

    id: of the source's. source: its name there. name: at the target, afterwards. before: the name that it has now;
    None: it is created. definition: None: it stays. value: None: it stays. owner: None: no column. changes_owner: the
    owner is not what it was. seen: the source's value, to be stored. moved_on: the target's has all numbers that the
    source's had given when the two were last compared: only those of since are missing.
    """

    id: int
    source: TableName
    name: TableName
    before: TableName | None
    seen: SequenceValue
    definition: SequenceDefinition | None = None
    value: SequenceValue | None = None
    owner: ColumnPlace | None = None
    changes_owner: bool = False
    moved_on: bool = False

    @property
    def is_about_value(self) -> bool:
        """Is only the value set, or stored?"""
        return self.before == self.name and self.definition is None and not self.changes_owner


@dataclass(frozen=True, slots=True)
class DefaultStep:
    """A default step sets a column's default at a target to an expression, or drops it.

    pieces: the expression, in pieces of text and names of sequences of the target; empty: no default.
    is_same_type: has the column its type of the source?
    """

    at: ColumnPlace
    pieces: tuple[str | TableName, ...] = ()
    is_same_type: bool = True


@dataclass(frozen=True, slots=True)
class SequencePlan:
    """A sequence plan is all that is to be done to a target's sequences.

    forgets: ids of the source's that are not tracked any more.
    """

    sequences: tuple[SequenceStep, ...] = ()
    defaults: tuple[DefaultStep, ...] = ()
    forgets: frozenset[int] = frozenset()

    @property
    def does_anything(self) -> bool:
        """Is there anything to do?"""
        return bool(self.sequences or self.defaults or self.forgets)


@dataclass(frozen=True, slots=True)
class SequencesWritten:
    """This value says what was done at a target: statements that were run, values that were set, and what was refused.

    warnings: what could not be done now, and need not be.
    """

    statements: tuple[str, ...] = ()
    values: int = 0
    refused: tuple[DdlReplError, ...] = ()
    warnings: tuple[str, ...] = ()


class Sequences(Protocol):
    """A server's sequences can be read."""

    def catalog(self, choose: Choose) -> SequenceCatalog:
        """Return all sequences but those of the system and of extensions, with the values of those that are chosen."""
        ...


class TargetSequences(Sequences, Protocol):
    """A target's sequences can be written, too."""

    def tracked(self) -> dict[int, TrackedSequence]:
        """Return what the target knows of the source's sequences, by the source's id."""
        ...

    def of_other_channels(self) -> frozenset[TableName]:
        """Return the names of the sequences that other channels have brought to this database."""
        ...

    def owned_by_strangers(self, names: Collection[TableName]) -> Mapping[TableName, StrangeOwner]:
        """Return the error of each of these sequences that belongs to a role that is not trusted, by name."""
        ...

    def write(self, plan: SequencePlan, fence: Fence) -> SequencesWritten:
        """Do what a plan says; what the target refuses of one sequence keeps no other from it.

        Raises Fenced LCK-102 when another run has been here, TargetError TGT-110 when a lock can't be had.
        """
        ...


_NO_SEQUENCES = Lack("has no sequences", "take `db_sequence` out of the channel file", "ADP-166")


class ShowsSequences(Ability, ABC):
    """A source shows sequences where it has some, whose values can be read."""

    lack = _NO_SEQUENCES

    @property
    @abstractmethod
    def sequences(self) -> Sequences:
        """Return the source's sequences; what an open transaction is altering is not waited for."""


class HasSequences(Ability, ABC):
    """A target has sequences where those of the source can be brought to it."""

    lack = _NO_SEQUENCES

    @property
    @abstractmethod
    def sequences(self) -> TargetSequences:
        """Return the target's sequences."""
