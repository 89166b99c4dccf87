"""This module knows which types can be sent in PostgreSQL's binary format, and which Arrow types they become.

A type is binary-safe when its send format means the same on every server: the types of pg_catalog
listed here with their arrays and ranges, and enums and domains over them. Everything else (composites,
arrays and ranges of user-defined types, types of extensions, reg… types, whose values are object ids of
one server, types whose empty value no server takes in that format) travels as text, and then the whole window does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from airflow_ddlrepl.sql import lexical

TEXT_OID = 25

# oid → (oid of its array, name in DDL). The same on every server since PostgreSQL 14.
BUILTIN: dict[int, tuple[int, str]] = {
    16: (1000, "boolean"),
    17: (1001, "bytea"),
    18: (1002, '"char"'),
    19: (1003, "name"),
    20: (1016, "bigint"),
    21: (1005, "smallint"),
    22: (1006, "int2vector"),
    23: (1007, "integer"),
    25: (1009, "text"),
    26: (1028, "oid"),
    27: (1010, "tid"),
    28: (1011, "xid"),
    29: (1012, "cid"),
    30: (1013, "oidvector"),
    114: (199, "json"),
    142: (143, "xml"),
    600: (1017, "point"),
    601: (1018, "lseg"),
    602: (1019, "path"),
    603: (1020, "box"),
    604: (1027, "polygon"),
    628: (629, "line"),
    650: (651, "cidr"),
    700: (1021, "real"),
    701: (1022, "double precision"),
    718: (719, "circle"),
    774: (775, "macaddr8"),
    790: (791, "money"),
    829: (1040, "macaddr"),
    869: (1041, "inet"),
    1042: (1014, "character"),
    1043: (1015, "character varying"),
    1082: (1182, "date"),
    1083: (1183, "time without time zone"),
    1114: (1115, "timestamp without time zone"),
    1184: (1185, "timestamp with time zone"),
    1186: (1187, "interval"),
    1266: (1270, "time with time zone"),
    1560: (1561, "bit"),
    1562: (1563, "bit varying"),
    1700: (1231, "numeric"),
    1790: (2201, "refcursor"),
    2950: (2951, "uuid"),
    2970: (2949, "txid_snapshot"),
    3220: (3221, "pg_lsn"),
    3614: (3643, "tsvector"),
    3615: (3645, "tsquery"),
    3802: (3807, "jsonb"),
    3904: (3905, "int4range"),
    3906: (3907, "numrange"),
    3908: (3909, "tsrange"),
    3910: (3911, "tstzrange"),
    3912: (3913, "daterange"),
    3926: (3927, "int8range"),
    4072: (4073, "jsonpath"),
    4451: (6150, "int4multirange"),
    4532: (6151, "nummultirange"),
    4533: (6152, "tsmultirange"),
    4534: (6153, "tstzmultirange"),
    4535: (6155, "datemultirange"),
    4536: (6157, "int8multirange"),
    5038: (5039, "pg_snapshot"),
    5069: (271, "xid8"),
}
NOT_RECEIVED_EMPTY = (22, 30, 3615)
"""int2vector, oidvector and tsquery: PostgreSQL sends an empty one, and refuses it when it is received."""
SAFE_OIDS = frozenset(
    oid for plain, (array, _) in BUILTIN.items() if plain not in NOT_RECEIVED_EMPTY for oid in (plain, array)
)
INFORMATION_SCHEMA = {
    "cardinal_number": 23,
    "character_data": 1043,
    "sql_identifier": 19,
    "time_stamp": 1184,
    "yes_or_no": 1043,
}
MODIFIERS = re.compile(r"\s*\(([^)]*)\)")
_NAME = rf'({lexical.NAME}|[^."\[(]+)'
_QUALIFIED = re.compile(rf"{_NAME}\.{_NAME}")
_BY_NAME = {name: oid for oid, (_, name) in BUILTIN.items()} | {f"{n}[]": array for array, n in BUILTIN.values()}


class Shape(StrEnum):
    """A shape says how a column's values are read out of a message."""

    BOOL = "bool"
    FIXED = "fixed"
    BYTES = "bytes"
    STRING = "string"
    CHAR = "char"
    JSONB = "jsonb"


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec says how values of one type arrive.

    encoding: the trail's word for it. arrow_name: the Arrow type's function. size: the bytes of a value (0: varies).
    """

    encoding: str
    shape: Shape
    arrow_name: str
    size: int = 0

    @property
    def arrow(self) -> pa.DataType:
        """Return the Arrow type."""
        return getattr(pa, self.arrow_name)()


_STRING = Codec("native", Shape.STRING, "string")
_BINARY = Codec("binary", Shape.BYTES, "binary")
_TEXT = Codec("text", Shape.STRING, "string")
_NUMBERS = {
    16: Codec("native", Shape.BOOL, "bool_", 1),
    20: Codec("native", Shape.FIXED, "int64", 8),
    21: Codec("native", Shape.FIXED, "int16", 2),
    23: Codec("native", Shape.FIXED, "int32", 4),
}
_STRINGS = dict.fromkeys((19, 25, 114, 142, 1042, 1043), _STRING)
NATIVE: dict[int, Codec] = {
    **_NUMBERS,
    **_STRINGS,
    17: Codec("native", Shape.BYTES, "binary"),
    18: Codec("native", Shape.CHAR, "string", 1),
    700: Codec("native", Shape.FIXED, "float32", 4),
    701: Codec("native", Shape.FIXED, "float64", 8),
    1082: Codec("native", Shape.FIXED, "int32", 4),
    1083: Codec("native", Shape.FIXED, "int64", 8),
    1114: Codec("native", Shape.FIXED, "int64", 8),
    1184: Codec("native", Shape.FIXED, "int64", 8),
    2950: Codec("native", Shape.BYTES, "binary", 16),
    3802: Codec("native", Shape.JSONB, "string"),
}
NATIVE_IN_TEXT: dict[int, Codec] = {**_NUMBERS, **_STRINGS, 18: _STRING}


def binary_codec(oid: int, extra: Mapping[int, int]) -> Codec | None:
    """Return how a type arrives in binary format; None when it isn't safe there."""
    known = extra.get(oid, oid)
    if known not in SAFE_OIDS:
        return None
    return NATIVE.get(known, _BINARY)


def text_codec(oid: int) -> Codec:
    """Return how a type arrives in text format."""
    return NATIVE_IN_TEXT.get(oid, _TEXT)


def binary_safe(table: Table) -> bool:
    """Can all columns of the table be sent in binary format?"""
    if table.type_ids <= SAFE_OIDS:
        return True
    extra = wire_types([table])
    return all(column.type.id in SAFE_OIDS or column.type.id in extra for column in table.columns)


def wire_types(tables: Iterable[Table]) -> dict[int, int]:
    """Return the built-in type whose binary format each enum and domain of the tables' columns shares, by oid."""
    found: dict[int, int] = {}
    for table in (table for table in tables if not table.type_ids <= SAFE_OIDS):
        definitions = {(one.schema, one.name): one for one in table.types}
        for column in table.columns:
            base = _wire_type(column.type, definitions)
            if base in SAFE_OIDS:
                found[column.type.id] = base
    return found


def _wire_type(kind: DataType, definitions: Mapping[tuple[str, str], TypeDefinition]) -> int | None:
    if kind.is_builtin or kind.extension:
        return None
    if kind.kind is TypeKind.ENUM:
        return TEXT_OID
    if kind.kind is TypeKind.DOMAIN and kind.schema == "information_schema":
        return INFORMATION_SCHEMA.get(kind.name)
    if kind.kind is TypeKind.DOMAIN and (one := definitions.get((kind.schema, kind.name))):
        return _base_oid(one, definitions)
    return None


def _base_oid(domain: TypeDefinition, definitions: Mapping[tuple[str, str], TypeDefinition]) -> int | None:
    """Return the built-in type at the bottom of a domain, enum labels as text; None when it isn't binary-safe."""
    plain = without_modifiers(domain.base or "")
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    inner = definitions.get(parts(domain.base or ""))
    if inner is None or inner is domain:
        return None
    if inner.kind is TypeKind.ENUM:
        return TEXT_OID
    return _base_oid(inner, definitions) if inner.kind is TypeKind.DOMAIN else None


def plain_oid(text: str) -> int:
    """Return the oid of a built-in type by its name in DDL, with modifiers or without.

    0 for an array or another type.
    """
    return 0 if text.endswith("]") else _BY_NAME.get(without_modifiers(text), 0)


def without_modifiers(text: str) -> str:
    """Return a type's name without modifiers: `timestamp(3) with time zone[]` → `timestamp with time zone[]`."""
    plain = MODIFIERS.sub("", text).strip()
    return re.sub(r"^interval (?:year|month|day|hour|minute|second)[a-z ]*", "interval", plain)


def parts(text: str) -> tuple[str, str]:
    """Return schema and name of a type, `shop."My Type"` → ("shop", "My Type"); a schema is empty where it has none."""
    match = _QUALIFIED.fullmatch(text)
    return (_unquoted(match[1]), _unquoted(match[2])) if match else ("", text)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
