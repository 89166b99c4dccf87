"""Data types that a channel file may give a column at a target: built-in ones, by the names that SQL has for them."""

from __future__ import annotations

import re

from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.model.types import DataType

_ALIASES = {
    "int2": "smallint", "int": "integer", "int4": "integer", "int8": "bigint", "decimal": "numeric", "float4": "real",
    "float": "double precision", "float8": "double precision", "bool": "boolean", "varchar": "character varying",
    "char": "character", "bpchar": "character", "time": "time without time zone",
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
}  # fmt: skip
BUILTIN_TYPES = {
    "smallint": ("int2", 21),
    "integer": ("int4", 23),
    "bigint": ("int8", 20),
    "numeric": ("numeric", 1700),
    "real": ("float4", 700),
    "double precision": ("float8", 701),
    "boolean": ("bool", 16),
    "text": ("text", 25),
    "character varying": ("varchar", 1043),
    "character": ("bpchar", 1042),
    "date": ("date", 1082),
    "time without time zone": ("time", 1083),
    "timestamp without time zone": ("timestamp", 1114),
    "timestamp with time zone": ("timestamptz", 1184),
    "interval": ("interval", 1186),
    "uuid": ("uuid", 2950),
    "bytea": ("bytea", 17),
    "json": ("json", 114),
    "jsonb": ("jsonb", 3802),
    "inet": ("inet", 869),
    "cidr": ("cidr", 650),
}
"""The name and number that PostgreSQL has for a type, by SQL's name."""
_SIZED = re.compile(r"([a-z0-9 ]+?) *(?:\( *(\d{1,8}) *(?:, *(\d{1,4}) *)?\)(?: *([a-z ]+))?)?")
LONGEST_TEXT, MOST_DIGITS = 10_485_760, 1000


def column_type(text: str) -> DataType:
    """Return the built-in type that a text names, spelled as the server spells it.

    Raises ValueError for a type that a column can't be given by the file.
    """
    found = _SIZED.fullmatch(" ".join(text.lower().split()))
    name = " ".join(part for part in (found[1], found[4]) if part) if found else ""
    name = _ALIASES.get(name, name)
    if found is None or name not in BUILTIN_TYPES:
        raise ValueError(f"{text!r} is no type that a column can be given: write {', '.join(BUILTIN_TYPES)}")
    size, scale = (int(part) if part else None for part in (found[2], found[3]))
    return _sized(text, name, size, scale)


def _sized(text: str, name: str, size: int | None, scale: int | None) -> DataType:
    short, type_id = BUILTIN_TYPES[name]
    size = 1 if name == "character" and size is None else size
    if size is None:
        return DataType(name, SYSTEM_SCHEMA, short, id=type_id)
    if name == "numeric" and 1 <= size <= MOST_DIGITS and (scale or 0) <= size:
        sizes, modifier = f"({size},{scale or 0})", ((size << 16) | (scale or 0)) + 4
    elif name in ("character varying", "character") and 1 <= size <= LONGEST_TEXT and scale is None:
        sizes, modifier = f"({size})", size + 4
    elif name.startswith("time") and size <= 6 and scale is None:
        sizes, modifier = f"({size})", size
    else:
        raise ValueError(f"{text!r}: the type {name} can't have that size")
    first, *rest = (name,) if not name.startswith("time") else name.split(" ", 1)
    return DataType(" ".join((first + sizes, *rest)), SYSTEM_SCHEMA, short, id=type_id, modifier=modifier)
