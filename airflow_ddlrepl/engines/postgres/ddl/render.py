"""This module writes the SQL of every kind of schema change for PostgreSQL; a kind without an entry is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.adapt.target_facts import About, Renderer
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.tables.attach_partition import AttachPartition
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.ddl.tables.change_logging import ChangeLogging
from airflow_ddlrepl.ddl.tables.change_replica_identity import ChangeReplicaIdentity
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.types.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.types.rename_type import RenameType
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl import columns as ddl_columns
from airflow_ddlrepl.engines.postgres.ddl import displaced_types, types
from airflow_ddlrepl.engines.postgres.ddl.blocks import block
from airflow_ddlrepl.engines.postgres.ddl.keys import change_key, key_sql
from airflow_ddlrepl.engines.postgres.ddl.replay_text import OWN_ZONE, replayed_text
from airflow_ddlrepl.engines.postgres.ddl.source_texts import bound_text, key_text
from airflow_ddlrepl.engines.postgres.ddl.types import create_types
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Partition, Table
from airflow_ddlrepl.model.types import TypeDefinition

__all__ = ["RENDER", "PostgresDdl", "attach", "create_table", "create_types", "key_sql", "truncate"]


def create_table(table: Table, name: TableName | None = None, *, with_key: bool = True) -> list[str]:
    """Return the SQL that creates a table and its schema, without attaching it as a partition.

    name: another name for the table; None: its own. The types must exist (`create_types`).
    """
    at = name or table.name
    columns = ", ".join(ddl_columns.define(_own(c, table)) for c in table.columns)
    partitioned = f" PARTITION BY {key_text(table.partition_key)}" if table.partition_key else ""
    create = f"CREATE TABLE {qualified(at)} ({columns}){partitioned}"
    return [*types.create_schema(at.schema), create, *(key_sql(table, at) if with_key else [])]


def attach(table: TableName, partition: Partition) -> str:
    """Return the SQL that attaches a table to a partitioned table."""
    bound = bound_text(partition.bound)
    return f"ALTER TABLE {qualified(partition.of_name)} ATTACH PARTITION {qualified(table)} {bound}"


def _own(column: Column, table: Table) -> Column:
    """Return the column as CREATE TABLE takes it for this table.

    A partition gets its identity columns by attaching; with one of its own the server refuses.
    """
    if table.partition is None or not column.identity:
        return column
    return Column(column.id, column.name, column.type, False, collation=column.collation)


def _create_table(change: CreateTable, before: Table | None) -> list[str]:
    table = change.table
    return create_table(table) + ([attach(table.name, table.partition)] if table.partition else [])


def _drop_table(change: DropTable, before: Table | None) -> list[str]:
    """Return the SQL that drops a table, without CASCADE.

    A view of somebody's on the table stops it, with the target's own message.
    """
    return [f"DROP TABLE IF EXISTS {qualified(change.table.name)}"]


def _rename_table(change: RenameTable, before: Table) -> list[str]:
    old, new = change.old, change.new
    if old.schema == new.schema:
        return [_rename(old, new.name)]
    into = types.create_schema(new.schema)
    into.append(_rename_taken(old, new.schema))
    if old.name == new.name:
        return [*into, _move(old, new.schema)]
    between = free_name(f"ddlrepl_move_{before.id}", (old.name, new.name))
    moved = TableName(new.schema, between)
    return [*into, _rename(old, between), _move(TableName(old.schema, between), new.schema), _rename(moved, new.name)]


def _rename_taken(table: TableName, schema: str) -> str:
    """Return the SQL that renames those indexes and sequences of a table whose names are taken in another schema.

    They move to that schema with the table, and have names of the target's own.
    """
    name = literal(qualified(table)).strip()
    return block(
        "DECLARE part record; BEGIN FOR part IN"
        " SELECT c.oid, c.relname, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'INDEX' END AS kind FROM pg_class c"
        f" WHERE c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = {name}::regclass"
        f" UNION ALL SELECT objid FROM pg_depend WHERE refobjid = {name}::regclass AND deptype IN ('a', 'i')"
        " AND classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass) AND c.relkind IN ('i', 'I', 'S')"
        " AND EXISTS (SELECT FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace"
        f" WHERE n.nspname = {literal(schema).strip()} AND o.relname = c.relname)"
        " LOOP EXECUTE format('ALTER %s %s RENAME TO %I', part.kind, part.oid::regclass,"
        " left(part.relname, 12) || '_' || part.oid); END LOOP; END"
    )


def _rename(old: TableName, name: str) -> str:
    return f"ALTER TABLE {qualified(old)} RENAME TO {quote(name)}"


def _move(table: TableName, schema: str) -> str:
    return f"ALTER TABLE {qualified(table)} SET SCHEMA {quote(schema)}"


def _attach(change: AttachPartition, before: Table) -> list[str]:
    return [attach(before.name, change.partition)]


def _detach(change: DetachPartition, before: Table) -> list[str]:
    return [f"ALTER TABLE {qualified(change.partition.of_name)} DETACH PARTITION {qualified(before.name)}"]


def _truncate(change: Truncate, before: Table) -> list[str]:
    return [f"TRUNCATE TABLE {qualified(before.name)}{' RESTART IDENTITY' if change.restart_identity else ''}"]


def _nothing(change: SchemaChange, before: Table | None) -> list[str]:
    """Return no SQL, for a change that matters at the source only."""
    return []


Rows = dict[type[SchemaChange], Callable[[Any, Any], list[str]]]
RENDER: Rows = {
    CreateTable: _create_table,
    DropTable: _drop_table,
    RenameTable: _rename_table,
    AddColumn: ddl_columns.add_column,
    DropColumn: ddl_columns.drop_column,
    RenameColumn: ddl_columns.rename_column,
    ChangeType: ddl_columns.change_type,
    ChangeNullability: ddl_columns.change_nullability,
    ChangeDefault: ddl_columns.change_default,
    ChangeIdentity: ddl_columns.change_identity,
    ChangeGenerated: ddl_columns.change_generated,
    FillColumn: ddl_columns.fill_column,
    ChangeKey: change_key,
    CreateType: types.create_type,
    ForgetType: types.forget_type,
    RenameType: types.rename_type,
    ChangeTypeDefinition: types.change_type_definition,
    ReplaceType: types.replace_type,
    AttachPartition: _attach,
    DetachPartition: _detach,
    Truncate: _truncate,
    ChangeLogging: _nothing,
    ChangeReplicaIdentity: _nothing,
}
RENDER_17: Rows = {**RENDER, ChangeGenerated: ddl_columns.set_expression}


@dataclass(frozen=True, slots=True)
class PostgresDdl(Renderer):
    """This renderer writes DDL for a PostgreSQL target of one major version."""

    server_version: int = 18
    engine: str = "postgres"

    def sql(self, change: SchemaChange, before: Table | None) -> tuple[str, ...]:
        """Return the statements of a schema change, without semicolons, to be run in order.

        Raises Unsupported ADP-110 for a kind of change without an entry.
        """
        rows = RENDER_17 if self.server_version >= 17 else RENDER
        if type(change) not in rows:
            raise Unsupported(
                f"{self.engine} has no statement for {change.kind}",
                code="ADP-110",
                table=before.name if before else None,
                hint="drop the target table and refresh this table",
            )
        return tuple(rows[type(change)](change, before))

    def rows_into(self, table: TableName, of: Table) -> tuple[str, ...]:
        """Return the statements that copy the rows of one table into another.

        An identity column keeps its values; what is computed is computed again.
        """
        names = ", ".join(quote(c.name) for c in of.columns if not c.generated)
        into = f" ({names}) OVERRIDING SYSTEM VALUE" if names else ""
        return (f"INSERT INTO {qualified(table)}{into} SELECT {names} FROM ONLY {qualified(of.name)}",)

    def unless_done(self, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements so that each does nothing where it has been run before.

        ADD VALUE IF NOT EXISTS does so by itself, and is not allowed in a block that catches errors.
        """
        return tuple(s if " ADD VALUE IF NOT EXISTS " in s else types.unless_done(s) for s in sql)

    def make_way(self, of: TypeDefinition) -> tuple[str, ...]:
        """Return the statements that rename a type of this name that is not like this one, so that the name is free.

        The new name contains the type's oid; columns that have the type still have it.
        """
        return tuple(displaced_types.make_way(of))

    def of_its_type(self, column: Column, table: Table) -> tuple[str, ...]:
        """Return the statements that give a column the type of its name, where it still has a renamed one.

        They look first: a view on the column would forbid even a change to the same type.
        """
        return (types.of_its_type(column, table),)

    def in_time_zone(self, zone: str, sql: tuple[str, ...]) -> tuple[str, ...]:
        """Return the statements with a time zone set before them, for casts between timestamps with and without one.

        They need a transaction; it goes on in our own time zone.
        """
        return (f"SET LOCAL TimeZone = {literal(zone).strip()}", *sql, OWN_ZONE)

    def replayed_text(self, text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
        """Return the statements that run a statement of the source's as it was written.

        They fail where a name in it would mean something else at the target. They need a transaction.
        """
        return replayed_text(text, path, zone, about)


def truncate(names: list[TableName], *, restart_identity: bool = False) -> str:
    """Return the SQL of one TRUNCATE for all tables of one TRUNCATE at the source.

    Foreign keys among them don't matter then.
    """
    end = " RESTART IDENTITY" if restart_identity else ""
    return f"TRUNCATE TABLE {', '.join(qualified(n) for n in names)}{end}"
