"""This module finds the schema changes between two shapes of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from airflow_ddlrepl.ddl import opaque
from airflow_ddlrepl.ddl.base.change import SchemaChange, TableChange
from airflow_ddlrepl.ddl.base.shared_columns import SharedByColumns
from airflow_ddlrepl.ddl.columns import (
    add_column,
    change_default,
    change_generated,
    change_identity,
    change_nullability,
    change_type,
    drop_column,
    rename_column,
)
from airflow_ddlrepl.ddl.tables import (
    attach_partition,
    change_key,
    change_logging,
    change_partition_key,
    change_replica_identity,
    create_table,
    detach_partition,
    drop_table,
    rename_table,
)
from airflow_ddlrepl.ddl.types import change_type_definition, create_type, rename_type
from airflow_ddlrepl.model.table import Table, replaced
from airflow_ddlrepl.ports.types import TypeSystem

# The order in which the changes can be made: what is in the way goes first, what builds on others comes last.
_OF_COLUMNS = (
    add_column.AddColumn,
    drop_column.DropColumn,
    rename_column.RenameColumn,
    change_default.ChangeDefault,
    change_nullability.ChangeNullability,
    change_type.ChangeType,
    change_identity.ChangeIdentity,
    change_generated.ChangeGenerated,
)
_known: SharedByColumns[tuple[SchemaChange, ...] | None] = SharedByColumns()
_Detector = Callable[[Table, Table], Iterable[TableChange]]
_BEFORE_TYPES: tuple[_Detector, ...] = (
    rename_type.spot,
    create_type.spot,
    change_type_definition.spot,
    rename_table.spot,
    detach_partition.spot,
    change_key.spot_dropped,
    change_generated.spot_dropped,
    change_generated.spot_blocking,
    drop_column.spot,
    rename_column.spot,
    change_identity.spot_dropped,
    change_default.spot_blocking,
)
_AFTER_TYPES: tuple[_Detector, ...] = (
    add_column.spot,
    change_generated.spot,
    change_nullability.spot,
    change_default.spot,
    change_identity.spot,
    change_key.spot,
    change_logging.spot,
    change_replica_identity.spot,
    change_partition_key.spot,
    attach_partition.spot,
    create_type.spot_unused,
    opaque.spot,
)


def diff(old: Table | None, new: Table | None, types: TypeSystem) -> tuple[SchemaChange, ...]:
    """Return the schema changes that lead from `old` to `new`, in an order in which they can be made one by one.

    Columns are matched by identity: a rename is never drop + add. What no kind explains is `opaque`. types: of the
    database whose shapes they are.
    """
    if old is None or new is None or old.id != new.id:
        return (*drop_table.spot(old, new), *create_table.spot(old, new))
    if old == new:  # nothing differs in a shape that is equal: to look for each kind takes a hundred times as long
        return ()
    if not _differs_in_columns_only(old, new):
        return _spotted(old, new, types)
    found = _known.of((old.columns, new.columns), types, lambda: _of_columns(old, new, types))
    return _spotted(old, new, types) if found is None else found


def _of_columns(old: Table, new: Table, types: TypeSystem) -> tuple[SchemaChange, ...] | None:
    """Return the changes between two shapes; None where they are not about columns alone, and so about one table."""
    found = _spotted(old, new, types)
    return found if all(isinstance(change, _OF_COLUMNS) for change in found) else None


def _differs_in_columns_only(old: Table, new: Table) -> bool:
    """Do two shapes differ in nothing but columns of built-in types? Then only these decide about what has changed."""
    if old.types or new.types or old.partition_key is not None:
        return False
    return replaced(old, columns=new.columns) == new


def _spotted(old: Table, new: Table, types: TypeSystem) -> tuple[SchemaChange, ...]:
    found: list[SchemaChange] = []
    shape = old
    detectors: list[_Detector] = [*_BEFORE_TYPES, partial(change_type.spot, types=types), *_AFTER_TYPES]
    for detect in detectors:
        changes = tuple(detect(shape, new))
        for change in changes:
            found.append(change)
            shape = change.apply(shape)
        if changes and shape == new:
            break
    return tuple(found)
