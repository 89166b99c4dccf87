"""What the planner must know of a target, and what it needs from the target's engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.types import TypeSystem


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the target's server said to the ALTER when it was tried. by_rows: rows that stand there are against it."""

    why: str
    by_rows: bool


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """One table's place at one target.

    type_system: what types do to values there. name_before, name_after: the target's name of the table before and after
    the change; None: as the shape says.
    server_version: major. extensions: installed there. existing: what stands under name_before (a new table:
    under name_after), as inspected there. occupant: what stands under name_after when that is another table.
    is_orphaned: occupant belongs to the channel, its source was dropped. is_renamed: occupant belongs to the channel,
    and the source must have given it another name before, which the log does not tell yet. types: user-defined types of
    the channel's other tables as they stand there; None: not known, then one that stands is taken for the right one.
    parent: the target's name of the partitioned table this one is a partition of; has_parent: is it replicated
    at all. parent_shape: that table's shape after the change; parent_before: the source's before it.
    publishes_generated: the log carries values of generated columns. is_pending: the table waits for a refresh that
    will bring any new shape. refusal: the target has refused this change.
    """

    type_system: TypeSystem
    name_before: TableName | None = None
    name_after: TableName | None = None
    server_version: int = 18
    extensions: frozenset[str] = frozenset()
    existing: Table | None = None
    occupant: Table | None = None
    is_orphaned: bool = False
    is_renamed: bool = False
    types: tuple[TypeDefinition, ...] | None = None
    parent: TableName | None = None
    has_parent: bool = True
    parent_shape: Table | None = None
    parent_before: Table | None = None
    publishes_generated: bool = False
    is_pending: bool = False
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class About:
    """Names without a schema that a statement's text says, and what they have to mean at the target; schemas that
    have to stand there.
    """

    tables: tuple[tuple[str, TableName], ...] = ()
    types: tuple[tuple[str, TableName], ...] = ()
    schemas: tuple[str, ...] = ()


class Renderer(Protocol):
    """An engine's DDL: the exact SQL of a change."""

    @property
    def engine(self) -> str:
        """Return the name of the engine whose SQL it writes."""
        ...

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        """before: the shape at the target just before. Raises Unsupported ADP-110 for a kind without a row."""
        ...

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        """The rows of a table into one that has the same columns."""
        ...

    def unless_done(self, sql: tuple[str, ...]) -> tuple[str, ...]:
        """The edits of a type, each skipped where it was made already."""
        ...

    def make_way(self, of: TypeDefinition) -> tuple[str, ...]:
        """A type of this name that can't serve as this one steps aside."""
        ...

    def of_its_type(self, column: Column, table: Table) -> tuple[str, ...]:
        """Where the empty table's column has a former type of the same name: the type of that name now."""
        ...

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        """The statements, run in the session time zone `zone`."""
        ...

    def as_told(self, text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
        """A source's statement under the search_path and time zone that it had there."""
        ...
