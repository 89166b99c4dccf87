"""This module writes PostgreSQL's DDL for the types that columns use.

Type changes are rendered without a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.types.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.types.rename_type import RenameType
from airflow_ddlrepl.ddl.types.type_edits import (
    AddAttribute,
    AddConstraint,
    AddLabel,
    DropAttribute,
    DropConstraint,
    RenameAttribute,
    RenameLabel,
    SetDefault,
    SetNotNull,
)
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.ddl import source_texts as texts
from airflow_ddlrepl.engines.postgres.ddl.blocks import block, text_literal
from airflow_ddlrepl.engines.postgres.ddl.columns import set_default
from airflow_ddlrepl.engines.postgres.ddl.displaced_types import declared_type, step_aside
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName, displaced_name, shortened
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind


def create_types(types: Iterable[TypeDefinition]) -> list[str]:
    """Return the SQL that creates types and their schemas, and leaves existing ones alone.

    types: dependencies must come first.
    """
    return [sql for of in types for sql in create_type(CreateType(of), None)]


def create_type(change: CreateType, before: Table | None) -> list[str]:
    """Return the SQL that creates a type and its schema; an existing type stays, and gets the labels that it lacks.

    PostgreSQL has no CREATE TYPE IF NOT EXISTS.
    """
    of = change.definition
    body = f"{_CREATE[of.kind](of)};" if of.kind in _CREATE else ""
    if not body:
        raise Unsupported(f"type {of.schema}.{of.name} of kind {of.kind}", code="ADP-110", hint="use a built-in type")
    taken, there = "duplicate_object", " ".join(f"{s};" for s in _missing_labels(of)) or "NULL;"
    if of.kind is TypeKind.RANGE:
        taken, there = "duplicate_object OR duplicate_function", _once_more(of)
    return [*create_schema(of.schema), block(f"BEGIN {body} EXCEPTION WHEN {taken} THEN {there} END")]


def create_schema(name: str) -> list[str]:
    """Return the SQL that creates a schema; where it exists, no right on the database is needed."""
    if name == "public":
        return []
    found = f"to_regnamespace({literal(quote(name)).strip()}) IS NULL"
    return [block(f"BEGIN IF {found} THEN CREATE SCHEMA {quote(name)}; END IF; END")]


def forget_type(change: ForgetType, before: Table | None) -> list[str]:
    """Return no SQL for a type that the table does not use any more: other tables may use it."""
    return []


def unless_done(statement: str) -> str:
    """Return the SQL of an edit of a type so that it does nothing where it was made before."""
    done = "duplicate_column OR undefined_column OR duplicate_object OR undefined_object OR invalid_parameter_value"
    return block(f"BEGIN {statement}; EXCEPTION WHEN {done} THEN NULL; END")


def rename_type(change: RenameType, before: Table | None) -> list[str]:
    """Return the SQL that renames a type.

    A type left behind under the new name is dropped; if something depends on it (an orphaned table) it is renamed.
    With a table: another table has the new name already; where the old type exists too, the columns get the new one.
    """
    if before is not None:
        return _move_over(change, before)
    old, new = TableName(*change.old), TableName(*change.new)
    declared, away = declared_type(*change.new), step_aside(*change.new)
    drop = f"DROP TYPE IF EXISTS {qualified(new)}"
    sql = [block(f"DECLARE {declared} BEGIN {drop}; EXCEPTION WHEN dependent_objects_still_exist THEN {away} END")]
    if old.name != new.name:
        sql.append(f"ALTER TYPE {qualified(old)} RENAME TO {quote(new.name)}")
    if old.schema != new.schema:
        moved = qualified(TableName(old.schema, new.name))
        sql += [*create_schema(new.schema), f"ALTER TYPE {moved} SET SCHEMA {quote(new.schema)}"]
    return sql


def _move_over(change: RenameType, before: Table) -> list[str]:
    after = change.alter(before)
    sql: list[str] = []
    for column_id, to, default in change.columns:
        name, was = after.column(column_id).name, before.column(column_id)
        text = "text[]" if to.kind is TypeKind.ARRAY else "text"
        sql += [set_default(before, name, None)] if was.default else []
        sql.append(
            f"ALTER TABLE {qualified(before.name)} ALTER COLUMN {quote(name)}"
            f" TYPE {texts.type_text(to.text)} USING {quote(name)}::{text}::{to.text}"
        )
        sql += [set_default(before, name, default)] if was.default else []
    if not sql:
        return []
    old = literal(qualified(TableName(*change.old))).strip()
    return [block(f"BEGIN IF to_regtype({old}) IS NOT NULL THEN {'; '.join(sql)}; END IF; END")]


def of_its_type(column: Column, table: Table) -> str:
    """Return the SQL that gives a column the type of its name, where its own type was renamed to free that name."""
    at, name, to = qualified(table.name), quote(column.name), texts.type_text(column.type.text)
    alter = f"ALTER TABLE {at} ALTER COLUMN {name}"
    steps = [f"{alter} TYPE {to} USING NULL::{to}"]
    if column.default is not None and not column.generated:
        steps = [f"{alter} DROP DEFAULT", *steps, set_default(table, column.name, column.default)]
    found = f"SELECT FROM pg_attribute WHERE attrelid = {text_literal(at)}::regclass"
    found += f" AND attname = {text_literal(column.name)}"
    return block(
        f"BEGIN IF EXISTS ({found} AND atttypid <> {text_literal(to)}::regtype) THEN {'; '.join(steps)}; END IF; END"
    )


def change_type_definition(change: ChangeTypeDefinition, before: Table | None) -> list[str]:
    """Return the SQL of each edit of a type's definition."""
    name = _name(change.new)
    return [_EDIT[type(edit)](name, edit) for edit in change.edits]


def replace_type(change: ReplaceType, before: Table | None) -> list[str]:
    """Return the SQL that replaces a type by a new one of its name.

    Without a table: the old one is renamed, and the new one created. With one: its columns get the new type.
    """
    if before is None:
        return _replace(change)
    sql: list[str] = []
    for column in before.columns:
        if (column.type.schema, column.type.name) != (change.old.schema, change.old.name):
            continue
        to = texts.type_text(column.type.text)
        alter = f"ALTER TABLE {qualified(before.name)} ALTER COLUMN {quote(column.name)}"
        text = "text[]" if column.type.kind is TypeKind.ARRAY else "text"
        sql += [set_default(before, column.name, None)] if column.default else []
        sql.append(f"{alter} TYPE {to} USING {quote(column.name)}::{text}::{to}")
        sql += [set_default(before, column.name, column.default)] if column.default else []
    if not sql:
        raise Unsupported(
            f"{change.new.schema}.{change.new.name} is used inside another type", code="ADP-111", table=before.name
        )
    return sql


def _replace(change: ReplaceType) -> list[str]:
    old = f"{shortened(change.old.name)}_old_{change.old.id}"
    return [f"ALTER TYPE {_name(change.old)} RENAME TO {quote(old)}", _enum(change.new)]


def _name(of: TypeDefinition) -> str:
    return qualified(TableName(of.schema, of.name))


def _enum(of: TypeDefinition) -> str:
    return f"CREATE TYPE {_name(of)} AS ENUM ({', '.join(text_literal(label) for label in of.labels)})"


def _composite(of: TypeDefinition) -> str:
    attributes = ", ".join(f"{quote(a.name)} {texts.type_text(a.type)}" for a in of.attributes)
    return f"CREATE TYPE {_name(of)} AS ({attributes})"


def _range(of: TypeDefinition) -> str:
    return f"CREATE TYPE {_name(of)} AS RANGE ({_values_of_range(of)})"


def _values_of_range(of: TypeDefinition) -> str:
    collation = f", COLLATION = {texts.collation_text(of.collation)}" if of.collation else ""
    return f"SUBTYPE = {texts.type_text(of.base or '')}{collation}"


def _once_more(of: TypeDefinition) -> str:
    """Return the SQL that creates a range type whose multirange or functions would get a name that is taken.

    Unless the type exists: these names are free at the source only. Without these functions it is made under another
    name; nobody but a superuser could rename them.
    """
    name, own = _name(of), qualified(TableName(of.schema, f"{shortened(of.name)}_made_{of.id}"))
    multirange = qualified(TableName(of.schema, f"{shortened(of.name)}_multirange_{of.id}"))
    values = _values_of_range(of)
    return (
        f"IF to_regtype({text_literal(name)}) IS NULL THEN"
        f" BEGIN CREATE TYPE {name} AS RANGE ({values}, MULTIRANGE_TYPE_NAME = {multirange});"
        f" EXCEPTION WHEN duplicate_function THEN CREATE TYPE {own} AS RANGE ({values});"
        f" ALTER TYPE {own} RENAME TO {quote(of.name)}; END; END IF;"
    )


def _multirange(of: TypeDefinition) -> str:
    """Return the SQL that gives a multirange type its name and schema.

    The server has made it with its range, under a name of the server's choice; in between it has a third name.
    """
    name, schema = text_literal(of.name), text_literal(of.schema)
    away = f"{text_literal(displaced_name(of.name, ''))} || made.oid"
    return (
        "DECLARE made record; BEGIN FOR made IN SELECT t.oid, t.oid::regtype::text AS now, nspname FROM pg_range"
        " JOIN pg_type t ON t.oid = rngmultitypid JOIN pg_namespace n ON n.oid = typnamespace"
        f" WHERE rngtypid = to_regtype({text_literal(of.base or '')}) AND (nspname, typname) <> ({schema}, {name}) LOOP"
        f" EXECUTE format('ALTER TYPE %s RENAME TO %I', made.now, {away}); IF made.nspname <> {schema} THEN"
        f" EXECUTE format('ALTER TYPE %I.%I SET SCHEMA %I', made.nspname, {away}, {schema}); END IF;"
        f" EXECUTE format('ALTER TYPE %I.%I RENAME TO %I', {schema}, {away}, {name}); END LOOP; END"
    )


def _domain(of: TypeDefinition) -> str:
    parts = [f"CREATE DOMAIN {_name(of)} AS {texts.type_text(of.base or '')}"]
    parts += [f"COLLATE {texts.collation_text(of.collation)}"] if of.collation else []
    parts += [f"DEFAULT {texts.default_text(of.default)}"] if of.default is not None else []
    parts += ["NOT NULL"] if of.not_null else []
    parts += [f"CONSTRAINT {quote(n)} {texts.check_text(text)}" for n, text in of.constraints]
    return " ".join(parts)


def _missing_labels(of: TypeDefinition) -> list[str]:
    """Return the SQL that adds the newer labels, which an existing enum may lack."""
    pairs = zip(of.labels[1:], of.labels, strict=False)
    return [_add_label(_name(of), AddLabel(label, "after", before)) for label, before in pairs]


def _add_label(name: str, edit: AddLabel) -> str:
    place = f" {edit.place.upper()} {text_literal(edit.beside)}" if edit.place else ""
    return f"ALTER TYPE {name} ADD VALUE IF NOT EXISTS {text_literal(edit.label)}{place}"


def _add_constraint(name: str, edit: AddConstraint) -> str:
    """Return the SQL that adds a check to a domain, unvalidated where the check can't be proven.

    PostgreSQL can't look into arrays and rows of a domain, and rows of a table that waits for a refresh may be older
    than the check: then it believes the source, which has checked them.
    """
    add = f"ALTER DOMAIN {name} ADD CONSTRAINT {quote(edit.name)} {texts.check_text(edit.text)}"
    unproven = "feature_not_supported OR check_violation"
    return block(f"BEGIN {add}; EXCEPTION WHEN {unproven} THEN {add} NOT VALID; END")


def _drop_constraint(name: str, edit: DropConstraint) -> str:
    """Return the SQL that drops a check of a domain, in a block with an exception.

    Bare, it leaves PostgreSQL unable to begin a subtransaction right after it.
    """
    return block(
        f"BEGIN ALTER DOMAIN {name} DROP CONSTRAINT {quote(edit.name)}; EXCEPTION WHEN undefined_object THEN NULL; END"
    )


def _set_not_null(name: str, edit: SetNotNull) -> str:
    """Return the SQL that allows or forbids nulls in a domain.

    Where that can't be proven here, as with a check, it goes on taking nulls, which the source won't.
    """
    if not edit.not_null:
        return f"ALTER DOMAIN {name} DROP NOT NULL"
    unproven = "feature_not_supported OR not_null_violation"
    return block(f"BEGIN ALTER DOMAIN {name} SET NOT NULL; EXCEPTION WHEN {unproven} THEN NULL; END")


def _set_default(name: str, edit: SetDefault) -> str:
    end = "DROP DEFAULT" if edit.default is None else f"SET DEFAULT {texts.default_text(edit.default)}"
    return f"ALTER DOMAIN {name} {end}"


_CREATE = {
    TypeKind.ENUM: _enum,
    TypeKind.COMPOSITE: _composite,
    TypeKind.DOMAIN: _domain,
    TypeKind.RANGE: _range,
    TypeKind.MULTIRANGE: _multirange,
}

_EDIT: dict[type, Callable[[str, Any], str]] = {
    AddLabel: _add_label,
    RenameLabel: lambda name, e: f"ALTER TYPE {name} RENAME VALUE {text_literal(e.old)} TO {text_literal(e.new)}",
    AddAttribute: lambda name, e: (
        f"ALTER TYPE {name} ADD ATTRIBUTE {quote(e.attribute.name)} {texts.type_text(e.attribute.type)}"
    ),
    DropAttribute: lambda name, e: f"ALTER TYPE {name} DROP ATTRIBUTE {quote(e.name)}",
    RenameAttribute: lambda name, e: f"ALTER TYPE {name} RENAME ATTRIBUTE {quote(e.old)} TO {quote(e.new)}",
    AddConstraint: _add_constraint,
    DropConstraint: _drop_constraint,
    SetNotNull: _set_not_null,
    SetDefault: _set_default,
}
