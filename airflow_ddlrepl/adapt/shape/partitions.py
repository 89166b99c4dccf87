"""Partitions at a target follow their partitioned table: its ALTER makes some of their changes already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_ddlrepl.adapt.plan_model import Step, StepKind
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.same_shape import key_names
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.sql.expression import is_constant
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.sql.lexer import canonical

_BY_PARENT = (AddColumn, DropColumn, RenameColumn, ChangeType)


def is_carried_by_parent(change: SchemaChange, shape: Table, wanted: Table, facts: TargetFacts) -> bool:
    """Does the ALTER of the partitioned table, or attaching to it, make this change of the partition?"""
    if not facts.server.alters_partitions:
        return False
    if isinstance(change, ChangeIdentity) and wanted.partition is not None:
        return True
    if shape.partition is None or wanted.partition is None or shape.partition.of != wanted.partition.of:
        return False
    if isinstance(change, _BY_PARENT):
        return True
    if isinstance(change, ChangeKey):
        return _is_parents_key(change, shape, wanted, facts)
    parent = facts.parent_shape
    if isinstance(change, ChangeNullability):  # where it may be NULL the server asks each partition
        return not change.nullable and parent is not None and _is_mandatory(parent, change.name)
    return isinstance(change, ChangeGenerated) and _is_parents_expression(change, facts)


def has_made(parent: Table | None, change: SchemaChange) -> bool:
    """Does the partitioned table have a change of its columns already? One that waits for a refresh does not.

    parent: its present shape at the target; None: not known, then it is taken to have the change.
    """
    if parent is None:
        return True
    columns = {column.name: column for column in parent.columns}
    match change:
        case AddColumn(column=column):
            return column.name in columns
        case DropColumn(column=column):
            return column.name not in columns
        case RenameColumn(new=name):
            return name in columns
        case ChangeType(name=name):
            return name in columns and columns[name].type == change.type
    return True


def _is_parents_key(change: ChangeKey, shape: Table, wanted: Table, facts: TargetFacts) -> bool:
    """Is the key that changes the partitioned table's? A partition may have a key of its own besides."""
    parent, before = facts.parent_shape, facts.parent_before
    if parent is None:
        return True
    if change.new is not None:
        return key_names(parent, _key(parent, change)) == key_names(wanted, change.new)
    known = [key_names(table, _key(table, change)) for table in (parent, before) if table is not None]
    return before is None or key_names(shape, change.old) in known


def _key(table: Table, change: ChangeKey) -> Key | None:
    """Return the one of a table's keys that is of the sort that the change is about."""
    about = change.new or change.old
    return next((key for key in table.keys if about and key.is_primary == about.is_primary), None)


def _is_mandatory(table: Table, column: str) -> bool:
    return any(c.name == column and not c.nullable for c in table.columns)


def _is_parents_expression(change: ChangeGenerated, facts: TargetFacts) -> bool:
    """Does the partitioned table's ALTER give the partition this expression?

    A partition may compute a column in another way than its partitioned table, and come back to that.
    """
    if not change.generated or facts.parent_shape is None or facts.parent_before is None:
        return True
    was, now = (_expression(table, change.name) for table in (facts.parent_before, facts.parent_shape))
    return (was != now or not change.old.generated) and now == canonical(change.expression or "")


def _expression(table: Table, column: str) -> str:
    return next((canonical(c.default or "") for c in table.columns if c.name == column), "")


def parent_fill(change: SchemaChange, shape: Table, render: Renderer) -> Iterator[Step]:
    """Yield the step that puts the source's value into a column that the partitioned table's ALTER has added.

    That ALTER gave the rows the default as the target computes it, which may be another value.
    """
    if not isinstance(change, AddColumn) or change.column.missing is None:
        return
    if change.column.default is None or not is_constant(change.column.default):
        fill = FillColumn(change.column, change.column.missing)
        yield Step(StepKind.SQL, str(fill), render.sql(fill, shape))


def like_parent(table: Table, parent: Table | None) -> Table:
    """Return a new partition with just the columns that its partitioned table has at the target.

    Where that retains a dropped column, has a wider one, or was left unchanged, the partition does not have the
    source's.
    """
    if table.partition is None or parent is None:
        return table
    ours = {column.name: column for column in table.columns}
    lowest = min(0, *(column.id for column in parent.columns))
    columns = tuple(_like(ours.get(theirs.name), theirs, lowest) for theirs in parent.columns)
    if set(columns) == set(table.columns):
        return table
    types = {of.id: of for of in (*parent.types, *table.types)}
    ordered = tuple(sorted(columns, key=lambda column: column.id))
    return table.with_(columns=ordered, types=tuple(types.values())).with_keys_of({column.id for column in columns})


def has_other_columns(before: Table, now: Table) -> bool:
    """Did columns come or go, or get other names?"""
    return {(c.id, c.name) for c in before.columns} != {(c.id, c.name) for c in now.columns}


def joined(table: Table, parent: Table | None) -> Table:
    """Return the shape of an existing table that becomes a partition: `like_parent`, unless it would lose a column."""
    names = {column.name for column in parent.columns} if parent else set()
    return like_parent(table, parent) if all(column.name in names for column in table.columns) else table


def _like(ours: Column | None, theirs: Column, lowest: int) -> Column:
    """Return the partition's column in the type of its partitioned table's.

    The id of a column that the source's partition lacks is one that none of its columns has. lowest: of the ids of the
    partitioned table's columns and 0.
    """
    if ours is None:
        return replace(theirs, id=lowest - theirs.id if theirs.id > 0 else theirs.id, missing=None, identity="")
    found = replace(ours, type=theirs.type, collation=theirs.collation, nullable=ours.nullable and theirs.nullable)
    if bool(ours.generated) == bool(theirs.generated):
        return found
    return replace(found, generated=theirs.generated, default=theirs.default)
