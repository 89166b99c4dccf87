"""These types hold what the planner must know of a target, and what it needs from the target's engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.shared_columns import SharedByColumns
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.server_facts import NEWEST
from airflow_ddlrepl.ports.server_traits import Trait
from airflow_ddlrepl.ports.types import TypeSystem


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal is the target server's error for an ALTER that was tried. by_rows: rows in the table caused it.

    code: the server's, or ours where the server has no error; empty: it is not known any more.
    """

    why: str
    by_rows: bool
    code: str = ""


def _has(name: str) -> bool:
    """Take it that a target has what nobody has asked it for."""
    return True


@dataclass(frozen=True, slots=True)
class TargetServer:
    """The server of a target is the same for all tables there: what a plan must know of it."""

    type_system: TypeSystem
    """What types do to values there."""
    version: int = NEWEST
    """The major one."""
    extensions: frozenset[str] = frozenset()
    """Those that are installed there."""
    has_collation: Callable[[str], bool] = field(default=_has, compare=False)
    has_builtin: Callable[[str], bool] = field(default=_has, compare=False)
    """Has it a built-in type of this name?"""
    computes: bool = True
    """Does it compute generated columns? Where not, it has their values from the source."""
    renames_columns: bool = True
    """Can a column of a table there be renamed?"""
    alters_types: bool = True
    """Can a column of a table there get another type?"""
    alters_partitions: bool = True
    """Does an ALTER of a partitioned table there alter its partitions, too?"""
    publishes_generated: bool = False
    """The log that it gets carries values of generated columns."""
    source_types: TypeSystem | None = None
    """Of a source of another kind of database, by which a column's family is known; None: it is of the same kind."""
    unlike: frozenset[Trait] = frozenset()
    """In what its results of expressions may differ from the source's."""
    held: SharedByColumns[Any] = field(default_factory=SharedByColumns, init=False, compare=False, repr=False)
    """The columns there for those of source's tables, as they were found."""


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The facts of a target are what one table's plan must know of it: of its server, and of the table there."""

    server: TargetServer
    name_before: TableName | None = None
    """What the table is called there before the change; None: as the shape says."""
    name_after: TableName | None = None
    existing: Table | None = None
    """The table under name_before (for a new table: under name_after), as inspected there."""
    occupant: Table | None = None
    """The table under name_after when that is another table."""
    is_orphaned: bool = False
    """The occupant belongs to the channel, its source was dropped."""
    is_renamed: bool = False
    """The occupant belongs to the channel, and the source must have renamed it in a part of the log not read yet."""
    types: tuple[TypeDefinition, ...] | None = None
    """User-defined types of the channel's other tables there; None: not known, one that exists is the right one."""
    parent: TableName | None = None
    """What the partitioned table is called there that this one is a partition of."""
    has_parent: bool = True
    """Is that table replicated at all?"""
    parent_shape: Table | None = None
    """Its shape there after the change."""
    parent_before: Table | None = None
    """Its shape at the source before the change."""
    strange: frozenset[tuple[str, str]] = frozenset()
    """Functions (schema, name) of the partition key that are a stranger's there."""
    is_pending: bool = False
    """The table waits for a refresh that will bring any new shape."""
    refusal: Refusal | None = None
    """The target has refused this change."""


@dataclass(frozen=True, slots=True)
class About:
    """An `About` lists the names without a schema in a statement's text, with what each must mean at the target.

    schemas: those that must exist there before the text runs.
    """

    tables: tuple[tuple[str, TableName], ...] = ()
    types: tuple[tuple[str, TableName], ...] = ()
    schemas: tuple[str, ...] = ()


class Renderer(Protocol):
    """An engine's renderer writes the exact SQL of a schema change.

    What an engine does not write is for kinds of database with types of their own, sessions with settings, or rows that
    SQL copies.
    """

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        """Return the SQL statements that make a change. before: the shape at the target just before.

        Raises Unsupported ADP-110 for a kind of change that the engine has no row for.
        """
        ...

    def new_texts(self, change: ChangeTypeDefinition, before: Table) -> tuple[str, ...]:
        """Return the SQL that gives a table's rows the texts that values of a changed type have now.

        An engine that has the type as the source has it changes no rows. Raises Unsupported ADP-110 or ADP-111.
        """
        return ()

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        """Return the SQL that copies the rows of the table `of` into `table`, which has the same columns.

        Raises Unsupported ADP-110 where no statement does it.
        """
        raise _refusal(f"copies the rows of a table into {table}", of.name, "let a refresh load the table again")

    def unless_done(self, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the edits of a type, changed so that an edit is skipped where it was made already."""
        return sql

    def make_way(self, of: TypeDefinition) -> tuple[str, ...]:
        """Return SQL that renames a type of this name at the target unless it can serve as this one."""
        return ()

    def of_its_type(self, column: Column, table: Table) -> tuple[str, ...]:
        """Return SQL that moves an empty table's column from a former type to the type that has its name now."""
        return ()

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements, to be run in the session time zone `zone`."""
        return sql

    def replayed_text(self, text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
        """Return a source's statement, to be run with the schemas and the time zone of the source.

        Raises Unsupported ADP-110 for a kind of target that runs no statements of a source.
        """
        raise _refusal("runs a statement of a source", None, "leave `replay_ddl` out for this target")


def _refusal(what: str, table: TableName | None, hint: str) -> Unsupported:
    """Return the error of a target without a statement that does this."""
    return Unsupported(f"this kind of target has no statement that {what}", code="ADP-110", table=table, hint=hint)
