"""This module writes DuckDB's SQL of every kind of schema change; a kind without an entry is refused.

A table there has columns with types and defaults, and nothing else: keys and constraints are the source's to keep.
Types of the user's are held as texts, so most changes of them are none here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.engines.duckdb.types.defaults import default_sql
from airflow_ddlrepl.engines.duckdb.types.physical import physical, value
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.read_texts import cut, read, why_not
from airflow_ddlrepl.engines.duckdb_sql.text_sql import as_written, is_literal
from airflow_ddlrepl.engines.held_types.new_texts import new_texts
from airflow_ddlrepl.engines.held_types.no_statements import NO_STATEMENTS
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table


def create_table(table: Table, name: TableName | None = None) -> list[str]:
    """Return the SQL that creates a table and its schema. name: another one than its own.

    Raises Unsupported ADP-110 for what a DuckDB file does not have.
    """
    at = name or table.name
    if not table.columns:
        raise _without_columns(table)
    _refuse_generated(table.columns, table.name)
    columns = ", ".join(_definition(column, table) for column in table.columns)
    return [*_schema(at), f"CREATE TABLE {qualified(at)} ({columns})"]


def _definition(column: Column, table: Table) -> str:
    default = default_sql(column, table.types)
    return f"{quote(column.name)} {physical(column.type, table.types)}{f' DEFAULT {default}' if default else ''}"


def _refuse_generated(columns: Iterable[Column], table: TableName) -> None:
    """Raise Unsupported ADP-110 for columns that a target has to compute: they would stay empty."""
    if names := ", ".join(column.name for column in columns if column.generated):
        raise Unsupported(
            f"a DuckDB file does not compute generated columns: {names}",
            code="ADP-110",
            table=table,
            hint="leave them out for this target (`column_properties`)",
        )


def _schema(name: TableName) -> list[str]:
    return [f"CREATE SCHEMA IF NOT EXISTS {quote(name.schema)}"]


def _create_table(change: CreateTable, before: Table | None) -> list[str]:
    return create_table(change.table)


def _drop_table(change: DropTable, before: Table | None) -> list[str]:
    return [f"DROP TABLE IF EXISTS {qualified(change.table.name)}"]


def _rename_table(change: RenameTable, before: Table) -> list[str]:
    if change.old.schema == change.new.schema:
        return [f"{_alter(before)} RENAME TO {quote(change.new.name)}"]
    copied = f"CREATE TABLE {qualified(change.new)} AS FROM {qualified(change.old)}"
    named = before.with_(name=change.new)
    defaults = [_set_default(named, column) for column in before.columns if column.default is not None]
    return [*_schema(change.new), copied, *defaults, f"DROP TABLE {qualified(change.old)}"]


def _truncate(change: Truncate, before: Table) -> list[str]:
    return [f"DELETE FROM {qualified(before.name)}"]


def _add_column(change: AddColumn, before: Table) -> list[str]:
    """Return the SQL that adds a column with what rows show there.

    By a default that is no constant DuckDB would update all rows, in a transaction of its own that ends ours.
    """
    column, name = change.column, quote(change.column.name)
    _refuse_generated([column], before.name)
    add = f"{_alter(before)} ADD COLUMN {name} {physical(column.type, before.types)}"
    default = [_set_default(before, column)] if default_sql(column, before.types) else []
    if column.missing is None:
        return [add, *default]
    if is_literal(column.missing, physical(column.type, before.types)):
        return [f"{add} DEFAULT {literal(column.missing)}", _set_default(before, column)]
    fill = f"UPDATE {qualified(before.name)} SET {name} = {value(column.missing, column, before.types)}"
    return [add, *default, fill]


def _set_default(table: Table, column: Column) -> str:
    default = default_sql(column, table.types)
    end = f"SET DEFAULT {default}" if default else "DROP DEFAULT"
    return f"{_alter(table)} ALTER COLUMN {quote(column.name)} {end}"


def _change_default(change: ChangeDefault, before: Table) -> list[str]:
    return [_set_default(before, replace(before.column(change.id), default=change.new))]


def _drop_column(change: DropColumn, before: Table) -> list[str]:
    if len(before.columns) == 1:
        raise _without_columns(before)
    return [f"{_alter(before)} DROP COLUMN {quote(change.column.name)}"]


def _without_columns(table: Table) -> Unsupported:
    return Unsupported(
        "a table of a DuckDB file has at least one column",
        code="ADP-110",
        table=table.name,
        hint="give it a column at the source, or leave it out of the channel",
    )


def _rename_column(change: RenameColumn, before: Table) -> list[str]:
    return [f"{_alter(before)} RENAME COLUMN {quote(change.old)} TO {quote(change.new)}"]


def _change_type(change: ChangeType, before: Table) -> list[str]:
    old, new = (physical(of, before.types) for of in (change.old.type, change.type))
    column = before.column(change.id)
    name = quote(column.name)
    wanted, text = replace(column, type=change.type), as_written(name, old)
    if change.using is Using.AS_WRITTEN:
        why = why_not(text, wanted, new)
        return [
            f"SELECT error({why}) FROM {qualified(before.name)} WHERE ({why}) IS NOT NULL LIMIT 1",
            f"{_alter(before)} ALTER COLUMN {name} TYPE {new} USING {read(text, wanted, new)}",
        ]  # which reads rows, too, that were deleted
    if change.using is Using.EXPLICIT and (shortened := cut(text, wanted)) != text:
        return [f"{_alter(before)} ALTER COLUMN {name} TYPE {new} USING {shortened}"]
    return [] if old == new else [f"{_alter(before)} ALTER COLUMN {name} TYPE {new}"]


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
    CreateTable: _create_table,
    DropTable: _drop_table,
    RenameTable: _rename_table,
    Truncate: _truncate,
    AddColumn: _add_column,
    DropColumn: _drop_column,
    RenameColumn: _rename_column,
    ChangeType: _change_type,
    FillColumn: _fill_column,
    ChangeDefault: _change_default,
}


@dataclass(frozen=True, slots=True)
class DuckDdl(Renderer):
    """This renderer writes DDL for a DuckDB file."""

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        if type(change) not in RENDER:
            raise _unsupported(change, before)
        about = change.table if isinstance(change, CreateTable | DropTable) else before
        if about is not None and about.is_partitioned:
            return ()  # it is a view, which `partition_views` makes
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

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        return (f"SET TimeZone = {literal(zone)}", *sql, "SET TimeZone = 'UTC'")


def _unsupported(change: SchemaChange, before: Table | None) -> Unsupported:
    return Unsupported(
        f"duckdb has no statement for {change.kind}",
        code="ADP-110",
        table=before.name if before else None,
        hint="drop the target table and refresh this table",
    )
