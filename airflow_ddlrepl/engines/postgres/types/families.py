"""This module tells the families of PostgreSQL's types, from the text that DDL spells them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import BUILTIN, INFORMATION_SCHEMA, MODIFIERS, parts
from airflow_ddlrepl.engines.postgres.types.underlying import builtin_name
from airflow_ddlrepl.model.types import OTHER, DataType, Family, TypeDefinition, TypeFamily, TypeKind
from airflow_ddlrepl.notation.column_types import LONGEST_TEXT, MOST_DIGITS, column_type
from airflow_ddlrepl.ports.types import Held

_PLAIN = {
    "bool": TypeFamily(Family.BOOLEAN),
    "int2": TypeFamily(Family.INT, bits=16),
    "int4": TypeFamily(Family.INT, bits=32),
    "int8": TypeFamily(Family.INT, bits=64),
    "oid": TypeFamily(Family.INT, bits=64),
    "float4": TypeFamily(Family.FLOAT, bits=32),
    "float8": TypeFamily(Family.FLOAT, bits=64),
    "text": TypeFamily(Family.TEXT),
    "name": TypeFamily(Family.TEXT),
    "char": TypeFamily(Family.TEXT),
    "bytea": TypeFamily(Family.BYTES),
    "uuid": TypeFamily(Family.UUID),
    "date": TypeFamily(Family.DATE),
    "json": TypeFamily(Family.JSON),
    "jsonb": TypeFamily(Family.JSON),
}
_TIMES = {
    "time": Family.TIME,
    "timetz": Family.TIME_TZ,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMP_TZ,
    "interval": Family.INTERVAL,
}
_RANGES = {
    "int4range": _PLAIN["int4"],
    "int8range": _PLAIN["int8"],
    "numrange": TypeFamily(Family.DECIMAL),
    "daterange": _PLAIN["date"],
    "tsrange": TypeFamily(Family.TIMESTAMP),
    "tstzrange": TypeFamily(Family.TIMESTAMP_TZ),
}

_HELD = {
    Family.BOOLEAN: "boolean",
    Family.DECIMAL: "numeric",
    Family.TEXT: "text",
    Family.BYTES: "bytea",
    Family.UUID: "uuid",
    Family.DATE: "date",
    Family.TIME: "time without time zone",
    Family.TIMESTAMP: "timestamp without time zone",
    Family.TIMESTAMP_TZ: "timestamp with time zone",
    Family.INTERVAL: "interval",
    Family.JSON: "json",
}
_INFORMATION_SCHEMA = {
    name: TypeDefinition(0, "information_schema", name, TypeKind.DOMAIN, base=BUILTIN[oid][1])
    for name, oid in INFORMATION_SCHEMA.items()
}
_INTS = {8: "smallint", 16: "smallint", 32: "integer", 64: "bigint"}


@lru_cache(maxsize=4096)
def family(of: DataType, types: tuple[TypeDefinition, ...] = ()) -> TypeFamily:
    """Return the family of a column's type. types: the definitions of the user-defined types of its table."""
    found = _of_text(of.text, types)
    return TypeFamily(Family.ENUM) if found.kind is Family.OTHER and of.kind is TypeKind.ENUM else found


def plain_name(text: str, types: Sequence[TypeDefinition]) -> str:
    """Return the catalog's name of the type that a type's text stands for, below all domains: `int4`, `int4[]`.

    "enum" for any enum, "" for a type that is not PostgreSQL's own.
    """
    if text.endswith("[]"):
        return f"{name}[]" if (name := plain_name(text[:-2], types)) else ""
    if (definition := _definition(text, types)) is None:
        return builtin_name(text)
    if definition.kind is TypeKind.ENUM:
        return "enum"
    return plain_name(definition.base or ".", types) if definition.kind is TypeKind.DOMAIN else ""


def _of_text(text: str, types: tuple[TypeDefinition, ...]) -> TypeFamily:
    if text.endswith("[]"):
        return _array(text[:-2], types)
    definition = _definition(text, types)
    return _builtin(text) if definition is None else _defined(definition, types)


def _array(of: str, types: tuple[TypeDefinition, ...]) -> TypeFamily:
    """Return the family of a type's arrays; `other` where their text is not that of a list.

    Arrays of a domain over arrays have texts in them; the items of boxes, and maybe of an extension's type, have no
    commas between them.
    """
    element = _of_text(of, types)
    is_list = element.kind is not Family.ARRAY
    if element.kind is Family.OTHER:
        is_list = plain_name(of, types) not in ("", "box")
    return TypeFamily(Family.ARRAY, element=element) if is_list else OTHER


def _definition(text: str, types: Sequence[TypeDefinition]) -> TypeDefinition | None:
    schema, name = parts(text)
    if schema == "information_schema":
        return _INFORMATION_SCHEMA.get(name)
    return next((one for one in types if (one.schema, one.name) == (schema, name)), None) if schema else None


def _defined(of: TypeDefinition, types: tuple[TypeDefinition, ...]) -> TypeFamily:
    others = tuple(one for one in types if one is not of)
    if of.kind is TypeKind.ENUM:
        return TypeFamily(Family.ENUM, labels=of.labels)
    if of.kind is TypeKind.DOMAIN and of.base:
        return _of_text(of.base, others)
    if of.kind is TypeKind.RANGE and of.base:
        return TypeFamily(Family.RANGE, element=_of_text(of.base, others))
    if of.kind is TypeKind.COMPOSITE and of.attributes:
        return TypeFamily(Family.STRUCT, fields=tuple((a.name, _of_text(a.type, others)) for a in of.attributes))
    return OTHER


def _builtin(text: str) -> TypeFamily:
    name = builtin_name(text)
    found = MODIFIERS.search(text) if name else None  # a type of an extension may have words there
    sizes = [int(one) for one in found[1].split(",")] if found else []
    if name == "numeric":
        precision, scale = (*sizes, 0)[:2] if sizes else (None, None)
        return TypeFamily(Family.DECIMAL, precision=precision, scale=scale)
    if name in ("varchar", "bpchar"):
        return TypeFamily(Family.TEXT, length=sizes[0] if sizes else None, is_padded=name == "bpchar")
    if name in _TIMES:
        return TypeFamily(_TIMES[name], scale=sizes[0] if sizes else None)
    if name in _RANGES:
        return TypeFamily(Family.RANGE, element=_RANGES[name])
    return _PLAIN.get(name, OTHER)


def of_family(of: TypeFamily) -> Held:
    """Return the type of PostgreSQL that has the values of a family, and what of them is lost."""
    if of.kind is Family.ARRAY and of.element is not None:
        item = of_family(of.element)
        return Held(replace(item.type, text=f"{item.type.text}[]", kind=TypeKind.ARRAY), item.loss)
    if of.kind is Family.ENUM:
        return Held(column_type("text"), "any text is a label")
    text = _sized(of) or _HELD.get(of.kind)
    return Held(column_type(text or "text"), "" if text else "it is a text")


def _sized(of: TypeFamily) -> str | None:
    """Return the type of PostgreSQL whose size is that of a family; None for one without size, or with one too big."""
    if of.kind is Family.INT:
        return _INTS[of.bits or 64]
    if of.kind is Family.FLOAT:
        return "real" if of.bits == 32 else "double precision"
    if of.kind is Family.DECIMAL and of.precision is not None:
        scale = of.scale or 0
        return f"numeric({of.precision},{scale})" if 0 <= scale <= of.precision <= MOST_DIGITS else None
    if of.kind is Family.TEXT and of.length is not None and 1 <= of.length <= LONGEST_TEXT:
        return f"{'character' if of.is_padded else 'character varying'}({of.length})"
    return None
