"""This module defines what the channel file says of one table at one target, as a value that is passed around.

A target stores it with the table's state (`stored`), so that a later run can tell what has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.row_kind import RowKind

SECONDS = 600
"""A function of `transform` has so long for one batch of rows where the channel file says nothing else."""


class CoerceErrorPolicy(StrEnum):
    """This policy says what happens to a value that the target's column does not take."""

    FAIL = "fail"
    TRUNCATE = "truncate"
    NULL = "null"
    DISCARD = "discard"

    @property
    def replaces(self) -> bool:
        """Does another value or none arrive for each that does not fit, whatever its type?"""
        return self in (CoerceErrorPolicy.NULL, CoerceErrorPolicy.DISCARD)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column name says what columns are called at a target; the first that matches a column decides."""

    columns: tuple[str, ...]
    """Patterns for the column's name at the source."""
    name: str | None
    """The name at the target; None: the target does not have the column."""


@dataclass(frozen=True, slots=True)
class Names:
    """These are the names that a table and its columns have at a target, where they are not the source's."""

    columns: tuple[ColumnName, ...] = ()
    table: str | None = None
    """The table's name by `table_properties`."""
    mapped: str | None = None
    """The table's whole name by a MAP parameter, as a pattern that matches it alone."""


@dataclass(frozen=True, slots=True)
class Rows:
    """These are the rows of a table that a target takes, by conditions over the source's columns; empty: all."""

    condition: str = ""
    """Of all rows that a load, a change or a comparison is about."""
    capture: str = ""
    integrate: str = ""
    """`capture` and `integrate` are about changes alone, and must both be true."""
    refresh: str = ""
    """Of the rows that a refresh after a schema change replaces."""
    refresh_context: str = ""
    """The context that `refresh` is for; empty: any."""
    ignore: tuple[RowKind, ...] = ()
    """The kinds of changes that the target does not take."""

    @property
    def of_changes(self) -> tuple[str, ...]:
        """Return the conditions for the changes that a target takes, which must all be true."""
        return tuple(filter(None, (self.condition, self.capture, self.integrate)))

    @property
    def of_changes_alone(self) -> str:
        """Return the condition for changes, which is none for loads; empty: there is none."""
        return " AND ".join(f"({part})" for part in (self.capture, self.integrate) if part)


@dataclass(frozen=True, slots=True)
class Values:
    """A Python function computes the values that columns have at the target."""

    function: str
    """module:function."""
    columns: tuple[str, ...]
    """Patterns for the columns that the function gives values to."""
    reads: tuple[str, ...] = ("*",)
    """Patterns for the columns that it reads, besides those that it gives."""
    version: str = ""
    """It changes when the function gives other values than before."""
    seconds: int = SECONDS
    """How long the function may take for one batch of rows."""


@dataclass(frozen=True, slots=True)
class OwnColumns:
    """A target's table may have columns, a key, types and rows that the source's table does not have."""

    soft_delete: str | None = None
    """The column that is true for rows which the source has deleted; None: they are deleted here, too."""
    deleted_at: str | None = None
    """The column with the moment at which a row of `soft_delete` was deleted."""
    key: tuple[str, ...] = ()
    """The source's columns that identify a row at the target."""
    time_key: bool = False
    """Every change is a row of its own."""
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Columns that only the target has: expressions over the row or the change, by name."""
    types: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Data types that columns have at the target, by the source's name."""
    misfits: CoerceErrorPolicy = CoerceErrorPolicy.FAIL
    """What happens to a value that the target's column can't hold."""

    @property
    def shapes(self) -> bool:
        """Do they give the target's table another shape?"""
        return bool(self.names or self.key or self.types)

    @property
    def needs_old_rows(self) -> bool:
        """Must the log have the whole old row of each change?"""
        return self.time_key or bool(self.key) or self.discards

    @property
    def discards(self) -> bool:
        """Are rows left out that have a value which the target's column can't hold?"""
        return self.misfits is CoerceErrorPolicy.DISCARD

    def like(self, other: OwnColumns) -> bool:
        """Have two tables the same columns by these settings?"""
        ours = (self.soft_delete, self.deleted_at, self.extra, self.types)
        return ours == (other.soft_delete, other.deleted_at, other.extra, other.types)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns that the target's table has and the source's has not."""
        return (*(name for name in (self.soft_delete, self.deleted_at) if name is not None), *self.extra)


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The settings of a table at a target: what the channel file says of its names, rows, values and own columns."""

    names: Names = Names()
    rows: Rows = Rows()
    values: Values | None = None
    """None: the values are the source's."""
    columns: OwnColumns = OwnColumns()
    conflicts: ConflictAnswers | None = None
    """None: no conflicts are looked for."""

    @property
    def misfits(self) -> CoerceErrorPolicy:
        """Return what happens to a value that the target's column can't hold."""
        return self.columns.misfits

    def shapes_like(self, other: TableSettings) -> bool:
        """Does the target's table have the same names and own columns by other settings?"""
        return (self.names, self.columns) == (other.names, other.columns)

    @property
    def leaves_out_changes(self) -> bool:
        """Are changes left out of rows that loads bring, so that a row may be there already, or missing?"""
        return bool(self.rows.of_changes_alone or (self.rows.ignore and not self.columns.time_key))


NO_SETTINGS = TableSettings()
"""The settings of a table of which the channel file says nothing."""
