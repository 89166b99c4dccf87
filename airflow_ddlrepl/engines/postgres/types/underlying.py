"""This module finds the type that a column's values really have, below all its domains."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import parts, without_modifiers
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind

ENUM = "enum"
_INTERNAL = {
    '"char"': "char",
    "bigint": "int8",
    "bit varying": "varbit",
    "boolean": "bool",
    "character varying": "varchar",
    "character": "bpchar",
    "decimal": "numeric",
    "double precision": "float8",
    "integer": "int4",
    "real": "float4",
    "smallint": "int2",
    "time with time zone": "timetz",
    "time without time zone": "time",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
}


def underlying(type_: DataType, types: Sequence[TypeDefinition]) -> tuple[str, str]:
    """Return the name of the type that a column's values really have, and its DDL text.

    The name is the catalog's for a built-in plain type ("int4"), "enum", or "" for all else.
    """
    if type_.kind is TypeKind.ENUM:
        return ENUM, type_.text
    if type_.kind is TypeKind.BASE:
        return (_INTERNAL.get(type_.name, type_.name) if type_.is_builtin else ""), type_.text
    if type_.kind is not TypeKind.DOMAIN:
        return "", type_.text
    by_name = {(t.schema, t.name): t for t in types}
    if not (found := domains(type_, types)):
        return "", type_.text
    base = found[-1].base or ""
    below = by_name.get(parts(base))
    if below is None:
        return builtin_name(base), base
    return (ENUM if below.kind is TypeKind.ENUM else ""), type_.text


def domains(type_: DataType, types: Sequence[TypeDefinition]) -> list[TypeDefinition]:
    """Return the domain that a type is, and each that it is over, as far as their definitions are known."""
    by_name = {(t.schema, t.name): t for t in types if t.kind is TypeKind.DOMAIN}
    found: list[TypeDefinition] = []
    one = by_name.get((type_.schema, type_.name)) if type_.kind is TypeKind.DOMAIN else None
    while one is not None:
        found.append(one)
        one = by_name.get(parts(one.base or ""))
    return found


def types_below(columns: Sequence[Column], types: Sequence[TypeDefinition]) -> dict[str, str]:
    """Return by column the DDL text of the type that its values really have, below all domains."""
    return {column.name: underlying(column.type, types)[1] for column in columns}


def schema_of(type_: DataType, types: Sequence[TypeDefinition]) -> str:
    """Return the schema of a plain type of an extension or a user; "" for types that pg_catalog compares."""
    name, text = underlying(type_, types)
    if name or type_.kind not in (TypeKind.BASE, TypeKind.DOMAIN):
        return ""
    if type_.kind is TypeKind.BASE:
        return "" if type_.is_builtin else type_.schema
    return "" if text == type_.text or text.endswith("]") else parts(text)[0]


def builtin_name(text: str) -> str:
    """Return the catalog's name of a built-in type, `character varying(20)` → varchar.

    "" for arrays and others' types.
    """
    plain = without_modifiers(text)
    return "" if plain.endswith("]") or "." in plain else _INTERNAL.get(plain, plain)
