"""HVR lists DDL statements in a table; this module finds the row of that table for a schema change."""

from __future__ import annotations

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Extent
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.tables.attach_partition import AttachPartition
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.hvr.ddl_table import Ddl
from airflow_ddlrepl.model.table import Column

_OF = {
    CreateTable: Ddl.CREATE_TABLE,
    DropTable: Ddl.DROP_TABLE,
    DropColumn: Ddl.DROP_COLUMN,
    RenameColumn: Ddl.RENAME_COLUMN,
    RenameTable: Ddl.RENAME_TABLE,
    ChangeKey: Ddl.CHANGE_KEY,
    Truncate: Ddl.TRUNCATE,
    AttachPartition: Ddl.ADD_PARTITION,
}
_EXTENT = {Extent.WIDEN: Ddl.WIDEN_COLUMN, Extent.NARROW: Ddl.NARROW_COLUMN, Extent.CONVERT: Ddl.CHANGE_TYPE}


def row_of(change: SchemaChange) -> Ddl | None:
    """Return the row of HVR's table of DDL statements that describes a schema change.

    None: that table has no such row (for a change of a default or collation, and for what only some engine knows).
    """
    if isinstance(change, AddColumn):
        return Ddl.ADD_COLUMN_DEFAULT if has_default(change.column) else Ddl.ADD_COLUMN
    if isinstance(change, ChangeType):
        return _EXTENT.get(change.extent)
    return _OF.get(type(change))


def has_default(column: Column) -> bool:
    """Did existing rows, or will new ones, get a value from the column's definition?"""
    return not column.generated and (column.default is not None or column.missing is not None)
