"""This module shows PostgreSQL's values as Arrow values: numbers, texts, dates and moments with types of their own."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.types.casts import numeric_size
from airflow_ddlrepl.engines.postgres.types.send_format import TEXTS, decimals, time_text
from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown

DAYS, MICROS = 10_957, 946_684_800_000_000  # from 1970 to 2000, where PostgreSQL counts from
MAX_DIGITS = 38  # of a decimal
_MODIFIER = re.compile(r"numeric\s*\((\d+)(?:,\s*(-?\d+))?\)")
_TYPES = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_NUMBERS = frozenset(("int2", "int4", "int8", "float4", "float8", "numeric"))
_EXACT_TEXT = frozenset(
    ("bool", "int2", "int4", "int8", "numeric", "uuid", "json", "jsonb", "name", "inet", "cidr", "enum")
) | {"text", "varchar", "bpchar"}


class PostgresValues(ChangeValues):
    """These change values are those of PostgreSQL's types."""

    def shown_type(self, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.DataType:
        name, text = underlying(column.type, types)
        if name == "numeric":
            precision, scale = _size(column, text)
            fits = precision <= MAX_DIGITS and 0 <= scale <= precision
            return pa.decimal128(precision, scale) if precision and fits else pa.string()
        return _TYPES.get(name, pa.string())

    def is_number(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        return underlying(column.type, types)[0] in _NUMBERS

    def has_exact_text(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        return underlying(column.type, types)[0] in _EXACT_TEXT

    def shown(
        self,
        values: pa.Array,
        encoding: str,
        column: Column,
        as_type: pa.DataType,
        types: Sequence[TypeDefinition] = (),
    ) -> pa.Array:
        name, _ = underlying(column.type, types)
        if values.null_count == len(values):
            return pa.nulls(len(values), as_type)
        try:
            if pa.types.is_string(as_type):
                return _texts(values, encoding, name)
            if name == "numeric":
                return _numbers(values, encoding, self.shown_type(column, types), as_type)
            plain = _from_text(values, name) if encoding == "text" else _NATIVE.get(name, _as_it_is)(values)
            return plain if plain.type == as_type else plain.cast(as_type)
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise NotShown(f"has a value that {as_type} can't hold ({error})") from None


POSTGRES_VALUES = PostgresValues()


def _size(column: Column, text: str) -> tuple[int, int]:
    """Return precision and scale of a numeric, or of the numeric below a domain; (0, 0) without modifiers."""
    if column.type.oid == 1700:
        return numeric_size(column.type.typmod) if column.type.typmod >= 0 else (0, 0)
    found = _MODIFIER.search(text)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _numbers(values: pa.Array, encoding: str, own: pa.DataType, as_type: pa.DataType) -> pa.Array:
    shown = decimals(values, own.precision, own.scale) if encoding == "binary" else values.cast(own)
    return shown if own == as_type else shown.cast(as_type)


def _as_it_is(values: pa.Array) -> pa.Array:
    return values


def _dates(values: pa.Array) -> pa.Array:
    _require_finite(values, 1 << 31)
    return pc.add_checked(values, pa.scalar(DAYS, pa.int32())).cast(pa.date32())


def _moments(values: pa.Array) -> pa.Array:
    _require_finite(values, 1 << 63)
    return pc.add_checked(values, pa.scalar(MICROS, pa.int64())).cast(pa.timestamp("us"))


def _utc(values: pa.Array) -> pa.Array:
    return _moments(values).cast(pa.timestamp("us", "UTC"))


def _require_finite(values: pa.Array, half: int) -> None:
    ends = pc.min_max(values).as_py()
    if ends["max"] == half - 1 or ends["min"] == -half:
        raise ValueError("infinity")


_NATIVE: dict[str, Callable[[pa.Array], pa.Array]] = {"date": _dates, "timestamp": _moments, "timestamptz": _utc}


def _from_text(values: pa.Array, name: str) -> pa.Array:
    if pa.types.is_string(values.type):
        if name == "bytea":
            return pa.array([None if v is None else bytes.fromhex(v[2:]) for v in values.to_pylist()], pa.binary())
        return values.cast(_TYPES[name])
    return values


def _texts(values: pa.Array, encoding: str, name: str) -> pa.Array:
    """Return the values' text; raise NotShown for a type whose send format is not read here."""
    if pa.types.is_string(values.type):
        return values
    if encoding == "binary" or name in ("time", "uuid"):
        write = _WRITTEN.get(name)
        if write is None:
            raise NotShown("has a type that the change feed does not read")
        return pa.array([None if v is None else write(v) for v in values.to_pylist()], pa.string())
    if name not in _EXACT_TEXT:
        raise NotShown("has a type whose text depends on settings of the server")
    return values.cast(pa.string())


def _uuid(value: bytes) -> str:
    return str(uuid.UUID(bytes=value))


_WRITTEN: dict[str, Callable[..., str]] = {**TEXTS, "time": time_text, "uuid": _uuid}
