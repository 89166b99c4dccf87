"""This module decides what PostgreSQL's casts do to values: keep them, convert them alike everywhere, or unknown.

Types are named by oid: those of pg_catalog have the same oid on every server.
"""

from __future__ import annotations

from airflow_ddlrepl.model.types import DataType, TypeKind
from airflow_ddlrepl.ports.types import Cast

BOOL, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC = 16, 21, 23, 20, 700, 701, 1700
TEXT, VARCHAR, BPCHAR, NAME, UUID, JSON, JSONB = 25, 1043, 1042, 19, 2950, 114, 3802
DATE, TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ, INET, CIDR = 1082, 1083, 1266, 1114, 1184, 869, 650
BIT, VARBIT, BYTEA, INTERVAL = 1560, 1562, 17, 1186

PLAIN_TEXT = DataType("text", "pg_catalog", "text", id=TEXT)

_ELEMENT = {
    1000: BOOL, 1005: INT2, 1007: INT4, 1016: INT8, 1021: FLOAT4, 1022: FLOAT8, 1231: NUMERIC, 1009: TEXT,
    1015: VARCHAR, 1014: BPCHAR, 2951: UUID, 199: JSON, 3807: JSONB, 1182: DATE, 1183: TIME, 1270: TIMETZ,
    1115: TIMESTAMP, 1185: TIMESTAMPTZ, 1041: INET, 651: CIDR, 1561: BIT, 1563: VARBIT, 1187: INTERVAL,
}  # fmt: skip

_INTEGERS = (INT2, INT4, INT8)
_NUMBERS = (*_INTEGERS, NUMERIC, FLOAT4, FLOAT8)
_STRINGS = (TEXT, VARCHAR, BPCHAR)
_PRECISE = (TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ)

# every old value is valid and means the same
_WIDER = {
    *((a, b) for i, a in enumerate(_INTEGERS) for b in _INTEGERS[i + 1 :]),
    *((a, NUMERIC) for a in _INTEGERS),
    (INT2, FLOAT4), (INT2, FLOAT8), (INT4, FLOAT8), (FLOAT4, FLOAT8),
    (VARCHAR, TEXT), (TEXT, VARCHAR), (DATE, TIMESTAMP), (CIDR, INET), (BIT, VARBIT), (NAME, TEXT),
}  # fmt: skip

# the same outcome on every server, whatever its settings; float to text depends on extra_float_digits, dates to
# text on DateStyle: they are not here
_SAME_EVERYWHERE = {
    *((a, b) for a in _NUMBERS for b in _NUMBERS),
    *((a, b) for a in _STRINGS for b in _STRINGS),
    *((a, b) for a in (*_INTEGERS, NUMERIC, BOOL, UUID, JSON, JSONB, NAME, INET, CIDR) for b in (TEXT, VARCHAR)),
    (JSON, JSONB), (JSONB, JSON), (TIMESTAMP, DATE), (DATE, TIMESTAMP), (TIMESTAMP, TIME), (CIDR, INET), (INET, CIDR),
    (BIT, VARBIT), (VARBIT, BIT), (TIME, INTERVAL), (INTERVAL, TIME),
}  # fmt: skip

_BY_TIME_ZONE = {
    (TIMESTAMP, TIMESTAMPTZ), (TIMESTAMPTZ, TIMESTAMP), (DATE, TIMESTAMPTZ), (TIMESTAMPTZ, DATE), (TIMESTAMPTZ, TIME),
    (TIMESTAMPTZ, TIMETZ),
}  # fmt: skip


# the outcome of an explicit cast, where there is no assignment cast
_EXPLICIT = {
    *((a, b) for a in (TEXT, VARCHAR) for b in (*_NUMBERS, BOOL, UUID, JSON, JSONB, INET, CIDR)),
    *((INT4, BOOL), (BOOL, INT4)),
}


def cast(old: DataType, new: DataType) -> Cast:
    """Return, as a Cast, whether ALTER … TYPE without USING gives the same values on another server."""
    a, b = element(old), element(new)
    if _is_array(old) != _is_array(new):
        return Cast.UNKNOWN
    if old.id == new.id or (a, b) in _SAME_EVERYWHERE:
        return Cast.SAME_EVERYWHERE
    if old.kind is TypeKind.ENUM and b in (TEXT, VARCHAR):
        return Cast.SAME_EVERYWHERE
    return Cast.BY_TIME_ZONE if (a, b) in _BY_TIME_ZONE else Cast.UNKNOWN


def explicit_cast(old: DataType, new: DataType) -> Cast:
    """Return, as a Cast, whether `USING c::type` gives the same values on another server.

    A cast between text and a date or time depends on DateStyle: it is not known to.
    """
    to_enum = old.id in (TEXT, VARCHAR) and new.kind is TypeKind.ENUM
    return Cast.SAME_EVERYWHERE if to_enum or (old.id, new.id) in _EXPLICIT else cast(old, new)


def cast_by_text(old: DataType, new: DataType) -> Cast:
    """Return, as a Cast, whether `USING c::text::type` gives the same values on another server."""
    both = (explicit_cast(old, PLAIN_TEXT), explicit_cast(PLAIN_TEXT, new))
    return Cast.SAME_EVERYWHERE if set(both) == {Cast.SAME_EVERYWHERE} else Cast.UNKNOWN


def widens(old: DataType, new: DataType) -> bool:
    """Return whether every value of the old type is valid in the new type, and is the same value there."""
    if _is_array(old) != _is_array(new):
        return False
    a, b = element(old), element(new)
    if a == b:
        return old.id == new.id and _modifier_grows(a, old.modifier, new.modifier)
    if (a, b) not in _WIDER:
        return False
    return _holds_integers(a, new.modifier) if b == NUMERIC else _modifier_grows(b, old.modifier, new.modifier)


def element(of: DataType) -> int:
    """Return the oid of the type's elements where it is an array, else of the type itself."""
    return _ELEMENT.get(of.id, of.id)


def _is_array(of: DataType) -> bool:
    return of.kind is TypeKind.ARRAY or of.id in _ELEMENT


def _modifier_grows(oid: int, old: int, new: int) -> bool:
    if new == -1 or old == new:
        return True
    if oid == NUMERIC:
        (p1, s1), (p2, s2) = numeric_size(old), numeric_size(new)
        return old != -1 and s2 >= s1 and p2 - s2 >= p1 - s1
    return oid in (VARCHAR, VARBIT, *_PRECISE) and old != -1 and new > old


def _holds_integers(oid: int, typmod: int) -> bool:
    if typmod == -1:
        return True
    precision, scale = numeric_size(typmod)
    return scale >= 0 and precision - scale >= {INT2: 5, INT4: 10, INT8: 19}[oid]


def numeric_size(typmod: int) -> tuple[int, int]:
    """Return precision and scale of numeric(p,s) from its type modifier; the scale may be negative."""
    packed = typmod - 4
    return packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


# what a mandatory column shows in rows that stand, where the policy doesn't want the source's default
_EMPTY = {
    **dict.fromkeys((INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC), "0"),
    **dict.fromkeys((TEXT, VARCHAR, BPCHAR, NAME, BYTEA, VARBIT), "''"),
    BOOL: "false",
    DATE: "'1970-01-01'::date",
    TIMESTAMP: "'1970-01-01'::timestamp",
    TIMESTAMPTZ: "'1970-01-01 00:00:00+00'::timestamptz",
    TIME: "'00:00'::time",
    INTERVAL: "'0'::interval",
    UUID: "'00000000-0000-0000-0000-000000000000'::uuid",
    JSON: "'null'::json",
    JSONB: "'null'::jsonb",
}


def empty_value(of: DataType) -> str | None:
    """Return the SQL of the value for a mandatory column of this type that gets none.

    None: the type has no such value.
    """
    return _EMPTY.get(of.id)


def is_exact_number(of: DataType) -> bool:
    """Return whether the type's arithmetic gives the same numbers on every server."""
    return of.id in (*_INTEGERS, NUMERIC)
