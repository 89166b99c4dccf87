"""These abilities are those of a place where a rewind builds tables as they were at an earlier moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.source_catalog import ReadableTables, RowSelection
from airflow_ddlrepl.engines.target_state import Fence, TargetState
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.server_facts import ServerFacts


class Obstacles(Protocol):
    """Obstacles are the objects under the names that a rewind needs that are not known to be an earlier rewind's."""

    @property
    def found(self) -> tuple[tuple[str, TableName], ...]:
        """Return the kind and the name of each obstacle."""
        ...

    def error(self) -> DdlReplError:
        """Return the error CannotAdapt REW-105, which says what to do about the obstacles."""
        ...


Names = tuple[set[TableName], set[TableName]]
"""This pair has the names of tables, and those of types."""


class RewindArea(Protocol):
    """A rewind area is where a rewind builds tables, and removes them again.

    It removes nothing of anybody else's.
    """

    def obstacles(self, names: Names, ours: Collection[TableName]) -> Obstacles:
        """Return the objects that a rewind would find under its names and may not remove.

        ours: tables that it removes first.
        """
        ...

    def begin(
        self, low: Position, found: TargetState, pending: Mapping[int, TableState], names: Names, fence: Fence
    ) -> None:
        """Remove what an earlier rewind built, reserve the names, and begin at `low` with tables that wait for loads.

        found: the state that the area has now. Raises CannotAdapt REW-104 or REW-105 with nothing changed.
        """
        ...

    def reserve(self, names: Names, fence: Fence) -> None:
        """Reserve these names for the rewind. Raises CannotAdapt REW-105 when another object has one of them."""
        ...

    def finish(self, made_as: str, at: Position, gone: Mapping[int, TableState], fence: Fence) -> None:
        """Remove the tables that are not wanted at the end, and store how and up to where the others were made."""
        ...

    def finished(self, made_as: str) -> Position | None:
        """Return the position up to which a finished rewind made in this way has come; None: there is no such one."""
        ...

    def free(self, fence: Fence) -> None:
        """Give up the names that the rewind has reserved and not used."""
        ...


_NO_PLACE = Lack("is no place for a rewind", "rewind into a replay in PostgreSQL, in a DuckDB file or in a lake")


class Rewinds(Ability, ABC):
    """A target rewinds where tables of an earlier moment can be built in it."""

    lack = _NO_PLACE

    @property
    @abstractmethod
    def rewind_area(self) -> RewindArea:
        """Return the area in which a rewind builds tables."""

    @abstractmethod
    def facts_when_emptied(self) -> ServerFacts:
        """Return the server facts as they will be when all tables are removed."""

    @abstractmethod
    def snapshot(self, names: Sequence[TableName], token: int) -> AbstractContextManager[ReadableTables]:
        """Open these tables of the target, to read them as those of a source are read; nobody writes to them."""


class RereadsRows(Ability, ABC):
    """A loader rereads rows where a table that it has loaded as archived can be filtered, and loaded from again."""

    lack = _NO_PLACE

    @property
    def converts_archives(self) -> bool:
        """Return whether it loads archived values into columns of another type than they were archived with."""
        return False

    def as_archived(self, column: Column) -> Column:
        """Return the column that holds archived values as the source has them, for `chunks`."""
        return column

    @abstractmethod
    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        """Return how many bytes each of these tables takes, by the same key."""

    @abstractmethod
    def chunks(self, place: TableName, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return row sources over one of our tables that holds the source's rows, of about `most` bytes each.

        They yield each selected row once, as those of `SourceSnapshot.chunks` do.
        """

    @abstractmethod
    def drop(self, names: Collection[TableName]) -> None:
        """Drop tables that this package has made."""
