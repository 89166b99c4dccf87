"""The port of a target: what the stages ask of a database that changes go to, whatever its engine is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.engines.source import RowSelection, SourceSnapshot
from airflow_ddlrepl.engines.target_state import (
    Applied,
    Capabilities,
    Fence,
    Placing,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetPosition,
    TargetState,
)
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.types import TypeSystem


class ServerFacts(Protocol):
    """What stands at a server right now; each question is asked once."""

    @property
    def version(self) -> int:
        """Return the server's major version."""
        ...

    @property
    def type_system(self) -> TypeSystem:
        """Return what types do to values there."""
        ...

    @property
    def extensions(self) -> frozenset[str]:
        """Return the extensions that the database has."""
        ...

    def table(self, name: TableName) -> Table | None:
        """Return the shape of the table of that name; None when there is none."""
        ...

    def types(self, names: Collection[TableName]) -> frozenset[TableName]:
        """Return those of the names that a type has there."""
        ...

    def has_rows(self, name: TableName) -> bool:
        """Is there a table of that name, with a row in it?"""
        ...


class Loader(Protocol):
    """One refresh at a target: tables are loaded as shadows that nobody sees, and put in their places one by one."""

    @property
    def facts(self) -> ServerFacts:
        """Return what stands at the target."""
        ...

    def shadow(self, table_id: int) -> TableName:
        """Return the name of the shadow table for a table."""
        ...

    def place_parent(self, state: TableState, stood: Table | None, fence: Fence) -> None:
        """Create a partitioned table, which holds no rows, or give the one that stands its columns.

        stood: the shape that the channel gave it, if it did. Raises CannotAdapt ADP-107 or ADP-131, Fenced LCK-102.
        """
        ...

    def renew_types(self, statements: Sequence[str]) -> None:
        """Run what brings the target's types up to date: all of it, or nothing."""
        ...

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        """Create an empty table of the wanted shape, without its key, and the types that it needs."""
        ...

    def finishing(self, shape: Table, shadow: TableName) -> tuple[str, ...]:
        """Return the statements that a loaded shadow table still needs."""
        ...

    def removing_unlike(
        self, shadow: TableName, condition: Part, here: Mapping[str, tuple[Column, Column]]
    ) -> tuple[str, ...]:
        """Return the statements that remove the rows which the condition is not true for.

        here: the source's column and the one that holds its values, by the source's name.
        """
        ...

    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        """Return how many bytes tables take, by the same key."""
        ...

    def chunks(self, place: TableName, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return row sources over a table of ours that holds the source's rows, as `SourceSnapshot.chunks` does."""
        ...

    def drop(self, names: Collection[TableName]) -> None:
        """Remove these tables of ours."""
        ...

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Make a loaded shadow the table, or its rows the table's, and say which; all or nothing.

        Raises CannotAdapt ADP-104, ADP-131 or ADP-140, Fenced LCK-102, TargetError TGT-110.
        """
        ...

    def end(self) -> None:
        """Forget what tells of chunks of shadow tables that are gone, or that have become tables."""
        ...


class Obstacles(Protocol):
    """What stands under the names that a rewind needs, and is not known to be an earlier rewind's."""

    @property
    def found(self) -> tuple[tuple[str, TableName], ...]:
        """Return the kind and the name of each."""
        ...

    def error(self) -> DdlReplError:
        """Return CannotAdapt REW-105 with what to do about them."""
        ...


Names = tuple[set[TableName], set[TableName]]
"""The names of tables, and those of types."""


class RewindArea(Protocol):
    """The place that a rewind builds tables in: what is built there is removed again, and nothing of anybody else's."""

    def obstacles(self, names: Names, ours: Collection[TableName]) -> Obstacles:
        """Return what a rewind would find under its names and may not remove. ours: tables that it removes first."""
        ...

    def begin(
        self, low: Position, found: TargetState, waiting: Mapping[int, TableState], names: Names, fence: Fence
    ) -> None:
        """Remove what an earlier rewind built, reserve the names, and begin at `low` with tables that wait for loads.

        found: how the place stands. Raises CannotAdapt REW-104 or REW-105 with nothing changed.
        """
        ...

    def reserve(self, names: Names, fence: Fence) -> None:
        """Make these names the rewind's. Raises CannotAdapt REW-105 when something else stands under one."""
        ...

    def finish(self, made_as: str, at: Position, gone: Mapping[int, TableState], fence: Fence) -> None:
        """Remove the tables that are not wanted at the end, and note how and up to where the others were made."""
        ...

    def finished(self, made_as: str) -> Position | None:
        """Return up to where a rewind that was made so has come; None: there is none, or it was not finished."""
        ...

    def free(self, fence: Fence) -> None:
        """Give up the names that the rewind has not used."""
        ...


class Target(Protocol):
    """A database that changes go to, bound to the name under which it keeps the channel's state; `close` ends it.

    location: with which tasks that run elsewhere open it again; never for showing.
    """

    capabilities: Capabilities
    location: str

    @property
    def rewind_area(self) -> RewindArea:
        """Return the place that a rewind builds tables in."""
        ...

    @property
    def is_closed(self) -> bool:
        """Has its connection come to an end? Then it has to be opened anew."""
        ...

    def database(self) -> str:
        """Return what tells the database, and the run of the server that answers, from every other."""
        ...

    def facts(self) -> ServerFacts:
        """Return what stands there now."""
        ...

    def facts_when_emptied(self) -> ServerFacts:
        """Return what will stand there when all tables are removed."""
        ...

    def renderer(self) -> Renderer:
        """Return what writes its DDL."""
        ...

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 where the server would not take the condition. No row is looked at."""
        ...

    def position(self, holder: str = "") -> TargetPosition | None:
        """Return where it stands; None when it was never prepared. holder: another one that may have been here."""
        ...

    def find_state(self) -> TargetState | None:
        """Return what it knows of the channel; None when it was never prepared for it."""
        ...

    def state(self) -> TargetState:
        """Return what it knows of the channel. Raises TargetError TGT-101 when it was never prepared for it."""
        ...

    def has_loaded(self) -> bool:
        """Has a table of the channel got its first rows here?"""
        ...

    def is_waiting(self) -> bool:
        """Does a table of the channel wait here for a refresh?"""
        ...

    def prepare(self, token: int) -> None:
        """End what earlier runs have open, and create what it keeps its state in, where that is not there.

        Raises TargetError TGT-102 without the right to, TGT-104 when somebody else has made it.
        """
        ...

    def take_over(self, at: Position, fence: Fence) -> None:
        """Begin again at this position, whoever was here before: the channel's repository was made anew."""
        ...

    def claim(self, fence: Fence) -> None:
        """Keep every earlier run of the channel from writing here: what it has open is undone, or done to its end.

        Raises Fenced LCK-102 when a newer run has been here, TargetError TGT-101 when it knows no such channel.
        """
        ...

    def change_state(self, change: StateChange, fence: Fence) -> None:
        """Write a change of its state, all or nothing. Raises Fenced LCK-102 when another run has been here."""
        ...

    def sweep(self, token: int) -> None:
        """Remove the temporary tables that runs before the one of this token have left."""
        ...

    def staging_name(self, token: int, name: str) -> str:
        """Return the name of a staging table, unique for the channel, the run and `name`."""
        ...

    def apply(
        self, program: Program, staged: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        """Apply everything and move the position from program.low to program.high.

        All or nothing where DDL is transactional; else in pieces, each with the position of its tables: what a killed
        run has begun is ended by `claim`, and `state` tells how far each table has come.
        records: left for the repository. Raises Fenced LCK-102 when another run moved the target, TargetError INT-…
        when rows do not fit, AlterRefused ADP-130 when it refuses a statement, TGT-110 when a lock can't be had.
        """
        ...

    def loading(self, token: int) -> AbstractContextManager[Loader]:
        """Open a session that loads tables; `claim` of a later run ends it."""
        ...

    def snapshot(self, names: Sequence[TableName], token: int) -> AbstractContextManager[SourceSnapshot]:
        """Export a snapshot of these tables of ours, to read them as a source's."""
        ...

    def outbox(self) -> list[tuple[int, Record]]:
        """Return what is to be recorded, oldest first, with the numbers that `acknowledge` takes."""
        ...

    def acknowledge(self, numbers: Iterable[int]) -> None:
        """Forget records that the repository has."""
        ...

    def forget(self) -> None:
        """Remove the channel's state; the tables stay."""
        ...

    def close(self) -> None:
        """End its connection."""
        ...
