"""This module is the port of what a source has: its catalog of tables, and snapshots of their rows."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from airflow_ddlrepl.errors import UnreadableTable, Unsupported
from airflow_ddlrepl.mapping.values import Transform
from airflow_ddlrepl.model.installation import ServerProfile
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Column, Table, TableObject
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.notation.condition.expression import Part as Condition
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.server_traits import ServerTraits
from airflow_ddlrepl.trail.loads import LoadedTable


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog has the shapes of all tables of a source at one moment.

    version: changes with any table's shape. tables: None when the version was the expected one.
    locked: ids of tables that an open transaction is altering; their shapes are not among `tables`.
    seen: the transactions whose changes the shapes contain.
    """

    version: str
    tables: list[Table] | None
    locked: frozenset[int]
    seen: Visibility


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A table that is left out is a table of the channel whose rows are not in the log.

    since: a position of the log; None: not known.
    is_reloaded: no log can bring it, whatever anybody does but give it a key: it is loaded whole, again and again.
    is_lost: it was in the stream, somebody has taken it out, and this role can't put it back.
    is_undecodable: its name, or another text that it can't do without, is in no encoding that is known.
    """

    table_id: int
    name: TableName
    why: str
    since: Position | None = None
    is_reloaded: bool = False
    is_lost: bool = False
    is_undecodable: bool = False

    @property
    def flags(self) -> dict[str, bool]:
        """Return which of the reasons that fail a run it has, as JSON values."""
        return {"is_lost": self.is_lost, "is_undecodable": self.is_undecodable}

    def __str__(self) -> str:
        return f"{self.why}{'' if self.since is None else f' (since {self.since})'}"


class RelationKind(StrEnum):
    """A kind of relation that no channel replicates the rows of, or only where the channel file asks for it."""

    FOREIGN_TABLE = "foreign table"
    EXTENSION_TABLE = "table of an extension"
    VIEW = "view"
    MATERIALIZED_VIEW = "materialized view"
    SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class OtherRelation:
    """An other relation is one that is no table of a channel."""

    kind: RelationKind
    name: TableName


class SourceCatalog(Protocol):
    """The source's catalog has the tables that the source has now: their names, shapes and sizes."""

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that exist."""
        return [table for table in self.inspect_catalog("").tables or () if table.id in table_ids]

    def objects(self, table_ids: Collection[int]) -> list[TableObject]:
        """Return what is made on these tables besides their columns: keys, checks, indexes, triggers."""
        return []

    def creation_text(self, missing: str) -> str:
        """Return the statements that create what a target lacks as the source has it; empty when it has none such.

        missing: of an error (`DdlReplError.missing`).
        """
        return ""

    def inspect_catalog(self, known: str) -> Catalog:
        """Return every table's shape but of those that an open transaction is altering.

        known: a version of the catalog; where it is still that, no shapes are read.
        """
        ...

    def now(self) -> Catalog:
        """Return the catalog's version at this moment, and what the moment has seen; `tables` is None."""
        return replace(self.inspect_catalog(""), tables=None)

    def known(self, catalog: Catalog) -> Catalog:
        """Return a catalog with the tables by their ids, where the source has none that survive a rename."""
        return catalog

    def beside(self) -> AbstractContextManager[SourceCatalog] | None:
        """Return the catalog over a session of its own, for use in another thread; None: no other is to be had.

        Raises Unreachable.
        """
        return None

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of all tables that could be in a channel, by name."""
        tables = self.inspect_catalog("").tables or ()
        return {table.id: table.name for table in sorted(tables, key=lambda one: one.name)}

    def with_partitions(self, table_ids: Collection[int]) -> dict[int, TableName]:
        """Return those of these tables that exist, and the partitions of the partitioned ones, by id."""
        return {i: name for i, name in self.list_tables().items() if i in table_ids}

    def sizes(self, table_ids: Collection[int]) -> Mapping[int, int]:
        """Return how many bytes each of these tables takes on disk; nothing where one of them is locked."""
        return dict.fromkeys(table_ids, 0)

    def estimated_rows(self, names: Collection[TableName]) -> Mapping[TableName, int]:
        """Return how many rows each of these tables has by the source's statistics; 0 where they have no number."""
        return dict.fromkeys(names, 0)

    def publishes_generated(self) -> bool:
        """Are values of generated columns in the log?"""
        return False

    def traits(self) -> ServerTraits | None:
        """Return what the results of the source's expressions depend on; None where nothing else computes them."""
        return None

    def profile(self) -> ServerProfile:
        """Return what kind of server the source is, and as whom it is read."""
        return ServerProfile(version="", log="", role="", is_administrator=False)

    def other_relations(self) -> list[OtherRelation]:
        """Return what the source has besides tables, by name."""
        return []

    def would_leave_out(self, tables: Collection[Table]) -> list[LeftOut]:
        """Return those of these tables whose rows no activation brings into the log, each with the reason."""
        return []

    def writing_origins(self) -> list[str]:
        """Return the replication origins of channels that write into this very database, by name."""
        return []

    def check_condition(self, condition: Condition, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 unless the source can evaluate a condition that reads these columns."""
        raise Unsupported(
            "this kind of source evaluates no conditions",
            code="ADP-148",
            table=table.name,
            hint="leave `restrict` out",
        )


@dataclass(frozen=True, slots=True)
class RowSelection:
    """A row selection says what is read of a table: these columns, in this order, of the rows that meet a condition.

    condition: None: all rows. transform: what computes values of them.
    """

    table: Table
    columns: tuple[str, ...]
    condition: Condition | None = None
    transform: Transform | None = None


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """An archive place is where in a trail the rows of a snapshot are stored.

    folder: relative to the trail of the channel.
    """

    trail_url: str = field(repr=False)
    channel: str
    folder: str


@dataclass(frozen=True, slots=True)
class Archived:
    """Archived are tables whose rows a trail has now. refused: why those of others could not be read, by id."""

    tables: tuple[LoadedTable, ...]
    refused: Mapping[int, UnreadableTable] = field(default_factory=dict)


class ReadableTables(Protocol):
    """Readable tables are some tables as of one moment, whose rows several tasks can read."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the tables that are still there, with their shapes at that moment."""
        ...

    @property
    def sizes(self) -> Mapping[int, int]:
        """Return how many bytes each table takes, by id."""
        return {table.id: 0 for table in self.tables}

    def chunks(self, selection: RowSelection, most: int) -> Sequence[RowSource]:
        """Return row sources that yield each selected row once, of about `most` bytes each; at least one."""
        ...


class SourceSnapshot(ReadableTables, Protocol):
    """A source snapshot has the rows of some tables as of one moment; several tasks can read them while it is open."""

    @property
    def snapshot(self) -> Visibility:
        """Return which transactions the rows contain."""
        ...

    @property
    def empty(self) -> Collection[int]:
        """Return the ids of tables that are known to have no row, without reading them."""
        return ()

    @property
    def refused(self) -> Mapping[int, UnreadableTable]:
        """Return why tables that were asked for can't be read, by id; they are not among `tables`."""
        return {}

    def require_readable(self, selection: RowSelection) -> None:
        """Raise UnreadableTable where these columns can't be read."""
        return None

    def whole(self, selection: RowSelection) -> RowSource:
        """Return one row source for all selected rows, which a search for differing rows may look through."""
        (rows,) = self.chunks(selection, sys.maxsize)
        return rows
