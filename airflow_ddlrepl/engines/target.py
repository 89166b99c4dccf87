"""This module is the port of a target: what the stages ask of a database that changes go to, of any engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.engines.discarded_rows import DiscardedRows
from airflow_ddlrepl.engines.sequences import TargetSequences
from airflow_ddlrepl.engines.source_catalog import RowSelection, SourceSnapshot
from airflow_ddlrepl.engines.target_state import (
    Applied,
    Capabilities,
    CutOver,
    Fence,
    Placing,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetPosition,
    TargetState,
)
from airflow_ddlrepl.errors import DdlReplError, Unsupported
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.server_facts import ServerFacts as ServerFacts


class Loader(Protocol):
    """A loader loads tables at a target for one refresh: it fills shadow tables, then puts each into its place.

    Nobody sees the shadow tables; they are put into their places one by one.
    """

    @property
    def facts(self) -> ServerFacts:
        """Return the server facts: what exists at the target now."""
        ...

    def shadow(self, table_id: int) -> TableName:
        """Return the name of the shadow table for a table."""
        ...

    def place_parent(self, state: TableState, recorded: Table | None, fence: Fence) -> bool:
        """Create a partitioned table, which holds no rows, or change the columns of the one that exists.

        recorded: the shape that the channel gave it, if it did. Return False, with nothing changed, where rows of its
        partitions forbid it: use `exchange_tree`. Raises CannotAdapt ADP-107 or ADP-131, Fenced LCK-102.
        """
        ...

    def exchange_tree(
        self, parents: Sequence[tuple[TableState, Table | None]], leaves: Sequence[Placing], fence: Fence
    ) -> Sequence[str]:
        """Do `place_parent` for partitioned tables, the highest first, and `put_in_place` for their leaves, at once."""
        ...

    def renew_types(self, statements: Sequence[str]) -> None:
        """Run the statements that bring the target's types up to date: all of them, or nothing."""
        ...

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        """Create an empty shadow table of the wanted shape, without its key, and the types that it needs."""
        ...

    def finishing(self, shape: Table, shadow: TableName) -> tuple[str, ...]:
        """Return the statements that a loaded shadow table still needs."""
        ...

    def removing_unlike(
        self, shadow: TableName, condition: Part, here: Mapping[str, tuple[Column, Column]]
    ) -> tuple[str, ...]:
        """Return the statements that remove from a shadow table the rows for which the condition is not true.

        here: the source's column and the one that holds its values, by the source's name.
        """
        ...

    def coercing(self, shadow: TableName, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the statements that make values NULL in a loaded shadow table that these columns can't hold.

        They are there as text, or as a type of the source. A row that such a statement returns is a warning.
        """
        ...

    def discarding(self, shadow: TableName, shape: Table, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the statements that take rows out of a loaded shadow table that do not fit these columns.

        shape: of the table that the shadow becomes; `put_in_place` stores the rows as discarded. A row that such a
        statement returns is a warning.
        """
        ...

    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        """Return how many bytes each of these tables takes, by the same key."""
        ...

    def chunks(self, place: TableName, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return row sources over one of our tables that holds the source's rows, of about `most` bytes each.

        They yield each selected row once, as those of `SourceSnapshot.chunks` do.
        """
        ...

    def drop(self, names: Collection[TableName]) -> None:
        """Drop tables that this package has made."""
        ...

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        """Make a loaded shadow the table, or copy its rows into the table; return which of the two was done.

        All or nothing.
        Raises CannotAdapt ADP-104, ADP-131 or ADP-140, Fenced LCK-102, TargetError TGT-110, and NotByRange where the
        shadow has the rows of some ranges only, and all are needed.
        """
        ...

    def end(self) -> None:
        """Delete the notes about loaded chunks of shadow tables that are gone or have become tables."""
        ...


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


class Target(Protocol):
    """A target is a database that changes go to, bound to the name under which the channel's state is stored there.

    `close` ends it.
    location: with which tasks that run elsewhere open it again; never for showing.
    """

    capabilities: Capabilities
    location: str

    @property
    def sequences(self) -> TargetSequences:
        """Return the target's sequences. Raises Unsupported ADP-166 for a kind of target that has none."""
        raise Unsupported(
            "this kind of target has no sequences",
            code="ADP-166",
            hint="take `db_sequence` out of the channel file",
        )

    @property
    def discarded_rows(self) -> DiscardedRows:
        """Return the rows that the target has discarded. Raises Unsupported ADP-164 for a kind that discards none."""
        raise Unsupported(
            "this kind of target discards no rows",
            code="ADP-164",
            hint="take the target out of `target_tables`",
        )

    @property
    def rewind_area(self) -> RewindArea:
        """Return the area in which a rewind builds tables."""
        ...

    @property
    def is_closed(self) -> bool:
        """Has its connection come to an end? Then the target has to be opened again."""
        ...

    def dangers(self) -> list[Problem]:
        """Return what works here, and should not stay: whose code runs with the rights of the target's role."""
        return []

    def missing_rights(self) -> list[Problem]:
        """Return rights without which all is written, but not so that others know it by: each with its statement."""
        return []

    def database(self) -> str:
        """Return a text that only a connection to this very database, in this run of its server, returns as well."""
        ...

    def facts(self) -> ServerFacts:
        """Return the server facts: what exists there now."""
        ...

    def facts_when_emptied(self) -> ServerFacts:
        """Return the server facts as they will be when all tables are removed."""
        ...

    def renderer(self) -> Renderer:
        """Return the renderer, which writes the target's DDL."""
        ...

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 unless the server takes the condition. No row is read."""
        ...

    def position(self, holder: str = "") -> TargetPosition | None:
        """Return the target's position; None when it was never prepared.

        holder: another name, under which state may be stored here.
        """
        ...

    def find_state(self) -> TargetState | None:
        """Return the state that the target has of the channel; None when it was never prepared for it."""
        ...

    def state(self) -> TargetState:
        """Return the state that the target has of the channel.

        Raises TargetError TGT-101 when it was never prepared.
        """
        ...

    def has_loaded(self) -> bool:
        """Has a table of the channel got its first rows here?"""
        ...

    def is_waiting(self) -> bool:
        """Is there a table of the channel that waits here for a refresh?"""
        ...

    def prepare(self, token: int) -> None:
        """End the sessions of earlier runs, and create the tables for the target's state, where they do not exist.

        Raises TargetError TGT-102 without the right to, TGT-104 when somebody else has made them.
        """
        ...

    def take_over(self, at: Position, fence: Fence) -> None:
        """Begin again at this position, whatever state the target has.

        For a channel whose repository was made again.
        """
        ...

    def claim(self, fence: Fence) -> None:
        """Stop every earlier run of the channel from writing here: its open changes are rolled back, or finished.

        Raises Fenced LCK-102 when a newer run has been here, TargetError TGT-101 when it knows no such channel.
        """
        ...

    def cut_over(self) -> CutOver | None:
        """Return the mark that applications use this target instead of the source; None: there is none."""
        ...

    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        """Store, durably, that applications use this target, or with None that the channel goes on.

        Raises Fenced LCK-102 when another run has been here.
        """
        ...

    def change_state(self, change: StateChange, fence: Fence) -> None:
        """Write a change of the state, all or nothing. Raises Fenced LCK-102 when another run has been here."""
        ...

    def sweep(self, token: int) -> None:
        """Remove the temporary tables that earlier runs than the one of this token have left."""
        ...

    def staging_name(self, token: int, name: str) -> str:
        """Return the name of a staging table, unique for the channel, the run and `name`."""
        ...

    def apply(
        self, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        """Apply a program: its rows, schema changes and records; move the position from program.low to program.high.

        All or nothing where DDL is transactional; else in pieces, each with the position of its tables: what a killed
        run has begun is ended by `claim`, and `state` says how far each table has come.
        records: left for the repository. Raises Fenced LCK-102 when another run moved the target, TargetError INT-…
        when rows do not fit, AlterRefused ADP-130 when it refuses a statement, TGT-110 when a lock can't be had.
        """
        ...

    def loading(self, token: int) -> AbstractContextManager[Loader]:
        """Open a session that loads tables; `claim` of a later run ends it."""
        ...

    def repair_rows(self, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
        """Write chosen rows of a table as the source has them; return what was done, as text.

        in_flight: called when the source's rows are read: keys of rows that are left as they are, for log that is to
        come changes them. Raises TargetError TGT-182 where the rows can't be written one by one, Fenced LCK-102.
        """
        raise Unsupported(
            "this kind of database does not write single rows of a table",
            code="ADP-193",
            hint="`ddlrepl refresh --table` with this table (of the source) loads it whole",
        )

    def loading_isolated(self, mark: int) -> AbstractContextManager[Loader]:
        """Open a session that loads tables while other runs write; what loads of lower marks have left is removed."""
        ...

    def snapshot(self, names: Sequence[TableName], token: int) -> AbstractContextManager[SourceSnapshot]:
        """Export a snapshot of these tables at the target, to read them as those of a source are read."""
        ...

    def outbox(self) -> list[tuple[int, Record]]:
        """Return the records that the repository has yet to take, oldest first.

        Each comes with the number that `acknowledge` takes.
        """
        ...

    def acknowledge(self, numbers: Iterable[int]) -> None:
        """Forget records that the repository has taken, by their numbers."""
        ...

    def forget(self) -> None:
        """Remove the channel's state; its tables stay."""
        ...

    def close(self) -> None:
        """Close the target's connection."""
        ...
