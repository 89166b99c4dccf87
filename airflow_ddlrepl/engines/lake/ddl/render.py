"""This module writes, in Spark's SQL, every kind of schema change; a kind without an entry is refused.

A table there has columns with types, and what rows from before a column show there: keys and constraints are the
source's to keep. Types of the user's are held as texts, so most changes of them are none here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.engines.held_types.new_texts import new_texts
from airflow_ddlrepl.engines.held_types.no_statements import NO_STATEMENTS
from airflow_ddlrepl.engines.lake.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.lake.ddl.arrangement import ArrangementOf, no_arrangement, require_possible
from airflow_ddlrepl.engines.lake.ddl.partitions import partitioned_by
from airflow_ddlrepl.engines.lake.ddl.sorting import sort_statement
from airflow_ddlrepl.engines.lake.types.conversions import converted
from airflow_ddlrepl.engines.lake.types.literals import value
from airflow_ddlrepl.engines.lake.types.physical import columns_sql, physical, widens_to
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.arrangement import NOT_ARRANGED, Arrangement

PARTITIONED = " USING iceberg PARTITIONED BY ("
"""What stands between the columns of a new table and the fields by which it is partitioned."""
RETYPED = "ddlrepl_retyped"
"""A field that takes the place of a column, until it does; nobody sees it."""

_RESERVED = frozenset(
    {
        *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
        *("_change_type", "_change_ordinal", "_commit_snapshot_id"),
    }
)
"""Columns that Iceberg has beside those of a table."""


def create_table(table: Table, name: TableName | None = None, arrangement: Arrangement = NOT_ARRANGED) -> list[str]:
    """Return the SQL that creates a table. name: another one than its own. arrangement: of its rows.

    Raises Unsupported ADP-110 for what a lake does not have, ADP-196 for fields that can't be.
    """
    if not table.columns:
        raise _without_columns(table)
    _refuse_generated(table.columns, table.name)
    _refuse_reserved([column.name for column in table.columns], table.name)
    require_possible(arrangement, table)
    create, fields = f"CREATE TABLE {qualified(name or table.name)} ({definitions(table)})", arrangement.partitions
    sort = [sort_statement(name or table.name, arrangement)] if arrangement.sort else []
    return [f"{create}{PARTITIONED}{partitioned_by(fields)})" if fields else create, *sort]


def definitions(table: Table) -> str:
    """Return the definitions of a table's columns."""
    return ", ".join(f"{quote(name)} {held}" for name, held in columns_sql(table).items())


def _refuse_generated(columns: Iterable[Column], table: TableName) -> None:
    """Raise Unsupported ADP-110 for columns that a target has to compute: they would stay empty."""
    if names := ", ".join(column.name for column in columns if column.generated):
        raise Unsupported(
            f"a lake does not compute generated columns: {names}",
            code="ADP-110",
            table=table,
            hint="leave them out for this target (`column_properties`)",
        )


def _without_columns(table: Table) -> Unsupported:
    return Unsupported(
        "a table of a lake has at least one column",
        code="ADP-110",
        table=table.name,
        hint="give it a column at the source, or leave it out of the channel",
    )


def _refuse_reserved(names: Iterable[str], table: TableName) -> None:
    """Raise Unsupported ADP-110 for names that Iceberg gives to what it shows of each row itself."""
    if taken := ", ".join(name for name in names if name in _RESERVED):
        raise Unsupported(
            f"a lake's table can have no column of this name, which Iceberg shows of each row: {taken}",
            code="ADP-110",
            table=table,
            hint="rename it at the source, or leave it out for this target (`column_properties`)",
        )


def _drop_table(change: DropTable, before: Table | None) -> list[str]:
    return [f"DROP TABLE IF EXISTS {qualified(change.table.name)}"]


def _rename_table(change: RenameTable, before: Table) -> list[str]:
    return [f"{_alter(before)} RENAME TO {qualified(change.new)}"]


def _truncate(change: Truncate, before: Table) -> list[str]:
    return [f"DELETE FROM {qualified(before.name)}"]


def _add_column(change: AddColumn, before: Table) -> list[str]:
    """Return the SQL that adds a column with what rows show there, which is stored once for all of them."""
    column = change.column
    _refuse_generated([column], before.name)
    _refuse_reserved([column.name], before.name)
    add = f"{_alter(before)} ADD COLUMN {quote(column.name)} {physical(column.type, before.types)}"
    return [add if column.missing is None else f"{add} DEFAULT {value(column.missing, column, before.types)}"]


def _drop_column(change: DropColumn, before: Table) -> list[str]:
    if len(before.columns) == 1:
        raise _without_columns(before)
    return [f"{_alter(before)} DROP COLUMN {quote(change.column.name)}"]


def _rename_column(change: RenameColumn, before: Table) -> list[str]:
    _refuse_reserved([change.new], before.name)
    return [f"{_alter(before)} RENAME COLUMN {quote(change.old)} TO {quote(change.new)}"]


def _change_type(change: ChangeType, before: Table) -> list[str]:
    """Return the SQL that gives a column another type; where Iceberg has no such change, another field takes its place.

    What only changes a field's type writes no rows, and keeps its id.
    """
    old, new = (physical(of, before.types) for of in (change.old.type, change.type))
    alter, name, retyped = _alter(before), quote(before.column(change.id).name), quote(RETYPED)
    values = converted(name, change.old.type, change.type)
    if old == new:
        return []
    if widens_to(old, new) or values is None:
        return [f"{alter} ALTER COLUMN {name} TYPE {new}"]
    return [
        f"{alter} ADD COLUMN {retyped} {new} AFTER {name}",
        f"UPDATE {qualified(before.name)} SET {retyped} = {values}",
        f"{alter} DROP COLUMN {name}",
        f"{alter} RENAME COLUMN {retyped} TO {name}",
    ]


def _fill_column(change: FillColumn, before: Table) -> list[str]:
    filled = value(change.value, change.column, before.types)
    return [f"UPDATE {qualified(before.name)} SET {quote(change.column.name)} = {filled}"]


def _nothing(change: SchemaChange, before: Table | None) -> list[str]:
    """Return no SQL, for a change of what a table here does not have."""
    return []


def _alter(table: Table) -> str:
    return f"ALTER TABLE {qualified(table.name)}"


RENDER: dict[type[SchemaChange], Callable[[Any, Any], list[str]]] = {
    **dict.fromkeys(NO_STATEMENTS, _nothing),
    DropTable: _drop_table,
    RenameTable: _rename_table,
    Truncate: _truncate,
    AddColumn: _add_column,
    DropColumn: _drop_column,
    RenameColumn: _rename_column,
    ChangeType: _change_type,
    FillColumn: _fill_column,
    ChangeDefault: _nothing,
}


@dataclass(frozen=True, slots=True)
class LakeDdl(Renderer):
    """This renderer writes DDL for Iceberg tables; `ddl/run.py` runs it. arrangement_of: of a table's rows."""

    arrangement_of: ArrangementOf = no_arrangement

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        if not isinstance(change, CreateTable) and type(change) not in RENDER:
            raise Unsupported(
                f"a lake has no statement for {change.kind}",
                code="ADP-110",
                table=before.name if before else None,
                hint="drop the target table and refresh this table",
            )
        about = change.table if isinstance(change, CreateTable | DropTable) else before
        if about is not None and about.is_partitioned:
            return ()  # it is a view, which `partition_views` makes
        if isinstance(change, CreateTable):
            return tuple(create_table(change.table, None, self.arrangement_of(change.table.name)))
        return tuple(RENDER[type(change)](change, before))

    def new_texts(self, change: ChangeTypeDefinition, before: Table) -> tuple[str, ...]:
        if before.is_partitioned:
            return ()

        def update(column: str, old: str, new: str) -> str:
            changed = f"UPDATE {qualified(before.name)} SET {quote(column)} = {literal(new)}"
            return f"{changed} WHERE {quote(column)} = {literal(old)}"

        return tuple(new_texts(change, before, update))

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        names = ", ".join(quote(column.name) for column in of.columns)
        return (f"INSERT INTO {qualified(table)} ({names}) SELECT {names} FROM {qualified(of.name)}",)
