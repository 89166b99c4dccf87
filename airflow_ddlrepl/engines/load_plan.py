"""What a loaded shadow table needs to become the target's table: a value, of which each engine makes its statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part


@dataclass(frozen=True, slots=True)
class UnlikeRows:
    """The rows for which a condition is not true leave the shadow table."""

    condition: Part
    here: Mapping[str, tuple[Column, Column]]  # the source's column and its place here, by its name there


@dataclass(frozen=True, slots=True)
class UnfitValues:
    """Values that columns of the target can't hold leave the shadow table, where they are texts or of a source's type.

    A row that a statement of this step returns is a warning.
    """

    columns: tuple[Column, ...]
    discards: bool  # whole rows, which `Loader.put_in_place` stores as discarded; else the values become NULL


@dataclass(frozen=True, slots=True)
class ShadowChange:
    """The shadow table is altered by a schema change."""

    change: SchemaChange
    before: Table  # the shadow table before the change


Step = UnlikeRows | UnfitValues | ShadowChange


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """A load plan has the steps, in their order, after which a loaded shadow table only lacks its key."""

    shadow: TableName
    shape: Table  # of the table that the shadow becomes
    steps: tuple[Step, ...]
