"""This module shows PostgreSQL's values as Arrow values: numbers, texts, dates and moments with types of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.types.casts import numeric_size
from airflow_ddlrepl.engines.postgres.types.numerics import MAX_DIGITS, decimals, numeric_texts, spread
from airflow_ddlrepl.engines.postgres.types.send_format import TEXTS, time_text
from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown

DAYS, MICROS = 10_957, 946_684_800_000_000  # from 1970 to 2000, where PostgreSQL counts from
_DAY = 86_400_000_000  # microseconds
_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_UUID_PARTS = ((0, 4, 0), (4, 6, 9), (6, 8, 14), (8, 10, 19), (10, 16, 24))  # bytes from, to; place in the text
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
    if (write := _WRITTEN.get(name)) is not None:
        return write(values)
    if encoding == "binary":
        if name not in TEXTS:
            raise NotShown("has a type that the change feed does not read")
        return _one_by_one(values, TEXTS[name])
    if name not in _EXACT_TEXT:
        raise NotShown("has a type whose text depends on settings of the server")
    return values.cast(pa.string())


def _one_by_one(values: pa.Array, write: Callable[..., str]) -> pa.Array:
    """Return texts of values; a value that occurs many times is written once."""
    known = values.dictionary_encode()
    return pa.array([write(value) for value in known.dictionary.to_pylist()], pa.string()).take(known.indices)


def _uuids(values: pa.Array) -> pa.Array:
    found = values.drop_null().cast(pa.binary(16))
    first = 16 * found.offset
    data = np.frombuffer(found.buffers()[1], np.uint8)[first : first + 16 * len(found)].reshape(-1, 16)
    texts = np.full((len(found), 36), ord("-"), np.uint8)
    for low, high, place in _UUID_PARTS:
        texts[:, place : place + 2 * (high - low)] = _HEXADECIMAL[data[:, low:high]].view(np.uint8)
    offsets = np.arange(0, texts.size + 1, 36, dtype=np.int32)
    whole = pa.Array.from_buffers(pa.string(), len(found), [None, pa.py_buffer(offsets), pa.py_buffer(texts)])
    return spread(whole, values)


def _times(values: pa.Array) -> pa.Array:
    if pc.max(values).as_py() == _DAY:  # 24:00, which Arrow does not know
        return _one_by_one(values, time_text)
    return pc.utf8_rtrim(pc.utf8_rtrim(values.cast(pa.time64("us")).cast(pa.string()), "0"), ".")


_WRITTEN: dict[str, Callable[[pa.Array], pa.Array]] = {"numeric": numeric_texts, "time": _times, "uuid": _uuids}
