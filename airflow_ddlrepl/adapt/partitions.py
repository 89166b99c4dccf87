"""Partitions at a target: what their partitioned table's own ALTER does to them already."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.adapt.facts import Renderer, TargetFacts
from airflow_ddlrepl.adapt.steps import Step, StepKind
from airflow_ddlrepl.ddl.add_column import AddColumn
from airflow_ddlrepl.ddl.change import SchemaChange
from airflow_ddlrepl.ddl.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.change_key import ChangeKey
from airflow_ddlrepl.ddl.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.change_type import ChangeType
from airflow_ddlrepl.ddl.drop_column import DropColumn
from airflow_ddlrepl.ddl.expression import is_constant
from airflow_ddlrepl.ddl.fill_column import FillColumn
from airflow_ddlrepl.ddl.rename_column import RenameColumn
from airflow_ddlrepl.model.table import Key, Table

_BY_PARENT = (AddColumn, DropColumn, RenameColumn, ChangeType, ChangeGenerated)


def is_carried_by_parent(change: SchemaChange, shape: Table, wanted: Table, facts: TargetFacts) -> bool:
    """Does the ALTER of the partitioned table, or attaching to it, make this change of the partition?"""
    if isinstance(change, ChangeIdentity) and wanted.partition is not None:
        return True
    if shape.partition is None or wanted.partition is None or shape.partition.of != wanted.partition.of:
        return False
    if isinstance(change, _BY_PARENT):
        return True
    parent = facts.parent_shape
    if isinstance(change, ChangeKey):
        return change.new is None or parent is None or _names(parent, parent.key) == _names(wanted, change.new)
    if isinstance(change, ChangeNullability):
        if parent is None:
            return change.nullable
        return any(c.name == change.name and c.nullable == change.nullable for c in parent.columns)
    return False


def parent_fill(change: SchemaChange, shape: Table, render: Renderer) -> Iterator[Step]:
    """The partitioned table's ALTER gave the rows the default as the target computes it: put the source's value."""
    if not isinstance(change, AddColumn) or change.column.missing is None:
        return
    if change.column.default is None or not is_constant(change.column.default):
        fill = FillColumn(change.column, change.column.missing)
        yield Step(StepKind.SQL, str(fill), render.sql(fill, shape))


def _names(table: Table, key: Key | None) -> tuple[str, ...]:
    return tuple(table.column(i).name for i in key.columns) if key else ()
