"""This module writes PostgreSQL's DDL for columns."""

from __future__ import annotations

from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl import source_texts as texts
from airflow_ddlrepl.engines.postgres.types.as_written import read_as, written
from airflow_ddlrepl.engines.postgres.types.underlying import domains
from airflow_ddlrepl.model.table import Column, Table


def define(column: Column) -> str:
    """Return the definition of a column as it is written in CREATE TABLE."""
    return _with_collation(column) + _generation(column) + ("" if column.nullable else " NOT NULL") + _default(column)


def add_column(change: AddColumn, before: Table) -> list[str]:
    """Return the SQL that adds a column.

    Existing rows get column.missing, else NULL; a mandatory column's default fills them.
    """
    column = change.column
    add = f"{_alter(before)} ADD COLUMN {_with_collation(column)}{_generation(column)}"
    mandatory = "" if column.nullable else " NOT NULL"
    if column.missing is not None:
        fill = _value(column.missing, column)
        if column.default in (fill, column.missing):
            return [f"{add}{_default(column)}{mandatory}"]
        return [f"{add} DEFAULT {fill}{mandatory}", set_default(before, column.name, column.default)]
    if column.generated or not column.nullable or before.is_partitioned:
        return [f"{add}{mandatory}{_default(column)}"]
    found = domains(column.type, before.types)
    if found and not any(domain.not_null or domain.constraints for domain in found):
        # A default of the domain's would fill them. Where it has constraints the source has written them all anew.
        return [f"{add} DEFAULT NULL", set_default(before, column.name, column.default)]
    return [add] if column.default is None else [add, set_default(before, column.name, column.default)]


def drop_column(change: DropColumn, before: Table) -> list[str]:
    """Return the SQL that drops a column."""
    return [f"{_alter(before)} DROP COLUMN {quote(change.column.name)}"]


def rename_column(change: RenameColumn, before: Table) -> list[str]:
    """Return the SQL that renames a column."""
    return [f"{_alter(before)} RENAME COLUMN {quote(change.old)} TO {quote(change.new)}"]


def change_type(change: ChangeType, before: Table) -> list[str]:
    """Return the SQL that gives a column another type."""
    name = quote(before.column(change.id).name)
    to = texts.type_text(change.type.text)
    using = {
        Using.ASSIGN: "",
        Using.EXPLICIT: f" USING {name}::{to}",
        Using.BY_TEXT: f" USING {name}::text::{to}",
        Using.AS_WRITTEN: f" USING {read_as(written(name), change.type)}",
        Using.EMPTY: f" USING NULL::{to}",
    }[change.using]
    return [f"{_alter(before)} ALTER COLUMN {name} TYPE {to}{_collate(change.collation)}{using}"]


def change_nullability(change: ChangeNullability, before: Table) -> list[str]:
    """Return the SQL that allows or forbids nulls in a column."""
    verb = "DROP" if change.nullable else "SET"
    return [f"{_column(before, change.id)} {verb} NOT NULL"]


def change_default(change: ChangeDefault, before: Table) -> list[str]:
    """Return the SQL that gives a column another default."""
    return [set_default(before, before.column(change.id).name, change.new)]


def set_default(table: Table, column: str, default: str | None) -> str:
    """Return the SQL that sets or drops a column's default.

    default: None: the column has none.
    """
    end = "DROP DEFAULT" if default is None else f"SET DEFAULT {texts.default_text(default)}"
    return f"{_alter(table)} ALTER COLUMN {quote(column)} {end}"


def change_identity(change: ChangeIdentity, before: Table) -> list[str]:
    """Return the SQL that makes a column an identity column, another kind of one, or none."""
    if not change.new:
        return [f"{_column(before, change.id)} DROP IDENTITY IF EXISTS"]
    if change.old:
        return [f"{_column(before, change.id)} SET GENERATED {texts.identity_words(change.new)}"]
    return [f"{_column(before, change.id)} ADD GENERATED {texts.identity_words(change.new)} AS IDENTITY"]


def change_generated(change: ChangeGenerated, before: Table) -> list[str]:
    """Return the SQL that makes a column a generated one, changes its expression, or makes it a plain one.

    Older servers than 17 can't set an expression: the column is dropped and added again, at the table's end.
    """
    if not change.generated and change.old.generated == "virtual":
        return _with_its_values(change, before)
    if not change.generated:
        return [f"{_column(before, change.id)} DROP EXPRESSION IF EXISTS"]
    after = change.alter(before).column(change.id)
    return [f"{_alter(before)} DROP COLUMN {quote(after.name)}, ADD COLUMN {define(after)}"]


def _with_its_values(change: ChangeGenerated, before: Table) -> list[str]:
    """Return the SQL that makes a virtual generated column a plain one with the values that it shows.

    The server can't do it: a new column gets the values of the old one.
    """
    after = change.alter(before).column(change.id)
    name, aside = quote(after.name), quote(free_name(f"ddlrepl_plain_{after.id}", {c.name for c in before.columns}))
    return [
        f"{_alter(before)} RENAME COLUMN {name} TO {aside}",
        f"{_alter(before)} ADD COLUMN {define(after)}",
        f"UPDATE {qualified(before.name)} SET {name} = {aside}",
        f"{_alter(before)} DROP COLUMN {aside}",
    ]


def set_expression(change: ChangeGenerated, before: Table) -> list[str]:
    """Return the SQL of `change_generated` for PostgreSQL 17 and later, which can set an expression.

    A partition's column stays generated while its partitioned table's is made again.
    """
    if change.generated and (before.partition or change.generated == before.column(change.id).generated):
        return [f"{_column(before, change.id)} SET EXPRESSION AS ({texts.expression_text(change.expression or '')})"]
    return change_generated(change, before)


def fill_column(change: FillColumn, before: Table) -> list[str]:
    """Return the SQL that writes a value into a column of all rows."""
    column = change.column
    return [f"UPDATE ONLY {qualified(before.name)} SET {quote(column.name)} = {_value(change.value, column)}"]


def _value(text: str, column: Column) -> str:
    return f"{literal(text).strip()}::{texts.type_text(column.type.text)}"


def _with_collation(column: Column) -> str:
    return f"{quote(column.name)} {texts.type_text(column.type.text)}{_collate(column.collation)}"


def _collate(collation: str | None) -> str:
    return f" COLLATE {texts.collation_text(collation)}" if collation else ""


def _generation(column: Column) -> str:
    if column.generated:
        expression = texts.expression_text(column.default or "")
        return f" GENERATED ALWAYS AS ({expression}) {texts.generated_words(column.generated)}"
    return f" GENERATED {texts.identity_words(column.identity)} AS IDENTITY" if column.identity else ""


def _default(column: Column) -> str:
    if column.default is None or column.generated:
        return ""
    return f" DEFAULT {texts.default_text(column.default)}"


def _alter(table: Table) -> str:
    return f"ALTER TABLE {qualified(table.name)}"


def _column(table: Table, column_id: int) -> str:
    return f"{_alter(table)} ALTER COLUMN {quote(table.column(column_id).name)}"
