"""These types hold what the planner must know of a target, and what it needs from the target's engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.shared_columns import SharedByColumns
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition
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
class TargetFacts:
    """The facts of a target are what one table's plan must know of it.

    type_system: what types do to values there. name_before, name_after: the target's name of the table before and after
    the change; None: as the shape says.
    server_version: major. extensions: installed there. existing: the table under name_before (for a new table:
    under name_after), as inspected there. occupant: the table under name_after when that is another table.
    is_orphaned: occupant belongs to the channel, its source was dropped. is_renamed: occupant belongs to the channel,
    and the source must have renamed it before, in a part of the log that was not read yet. types: user-defined types of
    the channel's other tables as they are there; None: not known, then one that exists is taken for the right one.
    parent: the target's name of the partitioned table this one is a partition of; has_parent: is it replicated
    at all. parent_shape: that table's shape after the change; parent_before: the source's before it.
    publishes_generated: the log carries values of generated columns. unlike: in what its results of expressions may
    differ from the source's. strange: functions (schema, name) of its partition key that are a stranger's there.
    has_collation, has_builtin: has the target a collation, a built-in type? is_pending: the table waits for a refresh
    that will bring any new shape. refusal: the target has refused this change. renames_columns, alters_types: can a
    column of a table there be renamed, and get another type? held: the target's columns for those of source's tables.
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
    unlike: frozenset[Trait] = frozenset()
    strange: frozenset[tuple[str, str]] = frozenset()
    has_collation: Callable[[str], bool] = field(default=_has, compare=False)
    has_builtin: Callable[[str], bool] = field(default=_has, compare=False)
    is_pending: bool = False
    refusal: Refusal | None = None
    renames_columns: bool = True
    alters_types: bool = True
    held: SharedByColumns[Any] = field(default_factory=SharedByColumns, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class About:
    """An `About` lists the names without a schema in a statement's text, with what each must mean at the target.

    schemas: those that must exist there before the text runs.
    """

    tables: tuple[tuple[str, TableName], ...] = ()
    types: tuple[tuple[str, TableName], ...] = ()
    schemas: tuple[str, ...] = ()


class Renderer(Protocol):
    """An engine's renderer writes the exact SQL of a schema change."""

    @property
    def engine(self) -> str:
        """Return the name of the engine whose SQL it writes."""
        ...

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        """Return the SQL statements that make a change. before: the shape at the target just before.

        Raises Unsupported ADP-110 for a kind of change that the engine has no row for.
        """
        ...

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        """Return the SQL that copies the rows of the table `of` into `table`, which has the same columns."""
        ...

    def unless_done(self, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the edits of a type, changed so that an edit is skipped where it was made already."""
        ...

    def make_way(self, of: TypeDefinition) -> tuple[str, ...]:
        """Return SQL that renames a type of this name at the target unless it can serve as this one."""
        ...

    def of_its_type(self, column: Column, table: Table) -> tuple[str, ...]:
        """Return SQL that moves an empty table's column from a former type to the type that has its name now."""
        ...

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements, to be run in the session time zone `zone`."""
        ...

    def replayed_text(self, text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
        """Return a source's statement, to be run under the search_path and time zone that it had at the source."""
        ...
