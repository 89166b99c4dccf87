"""This module reads the texts of a source's values as values of another type, which a target's column has.

A text fits where PostgreSQL would read it as the same value, as of `duckdb_sql.read_texts`, which compares them. Equal
texts are read once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition

_BLANKS = " \t\n\r\f\v"
_DIGITS = r"(?:\d+\.?\d*|\.\d+)"
_DAY = r"(\d{4,})(-\d\d-\d\d)"
_HOUR = r"(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,6})?)?"
_ZONE = r"z|[+-]\d\d(?::\d\d)?"
_FLAGS = re.IGNORECASE | re.ASCII
_WHOLE = re.compile(r"[+-]?\d+", _FLAGS)
_NUMBER = re.compile(rf"[+-]?{_DIGITS}", _FLAGS)
_NUMERIC = re.compile(r"[+-]?\d+(?:\.\d+)?", _FLAGS)
_FLOAT = re.compile(rf"[+-]?(?:{_DIGITS}(?:e[+-]?\d+)?|inf|infinity)|nan", _FLAGS)
_MOMENT = re.compile(rf"{_DAY}(?:[ t]({_HOUR})({_ZONE})?)?( bc)?", _FLAGS)
_BYTES = re.compile(r"\\x((?:[0-9a-f]{2})*)", _FLAGS)
_TRUE = frozenset(["t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"])
_FALSE = frozenset(["f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"])
_LIMITED = ("varchar", "bpchar")
_TEXTS = ("text", *_LIMITED)
_DAY_MICROSECONDS = 86_400_000_000
_EXACT = Context(prec=200)


def is_read(of: DataType) -> bool:
    """Can texts be read as values of a type, by what the type says of them?"""
    if of.name.startswith("time") and of.modifier >= 0:
        return of.modifier == 6  # a lake's have six digits after the point
    return physical(of) != TEXT or of.name in _TEXTS or (of.name == "numeric" and of.modifier < 0)


def read(texts: pa.Array | pa.ChunkedArray, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.Array:
    """Return the values that a column reads from texts; NULL where one is no such value, or NULL itself.

    A type that is not the channel file's, and that a lake holds as a text, takes any.
    """
    spark_type = physical(column.type, types)
    values = _each(texts, _reader(column.type, spark_type), _stored_type(spark_type))
    return values if values.type == arrow_type(spark_type) else values.cast(arrow_type(spark_type))


def why_not(texts: pa.Array | pa.ChunkedArray, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.Array:
    """Return for each text why a column can't hold the value with it; NULL: it can."""
    of = column.type
    reader = _reader(of, physical(of, types))

    def why(text: str) -> str | None:
        if reader(text) is not None:
            return None
        if _size(of) is not None:
            return f"value too long for type {of.text}"
        return f'invalid input syntax for type {of.text}: "{text}"'

    return _each(texts, why, pa.string())


def required(texts: pa.Array | pa.ChunkedArray, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.Array:
    """Return the values that a column reads from texts. Raises RowsRefused INT-105 where one is no such value."""
    values = read(texts, column, types)
    if values.null_count > texts.null_count:
        reason = pc.drop_null(why_not(texts, column, types))[0].as_py()
        raise RowsRefused(
            f"column {column.name}: {reason}",
            code="INT-105",
            hint="correct the value at the source, or give the column another type or policy in `target_tables`",
        )
    return values


def cut(texts: pa.Array | pa.ChunkedArray, column: Column) -> pa.Array | pa.ChunkedArray:
    """Return texts that are cut where they are longer than a column may hold."""
    size = _size(column.type)
    return texts if size is None else pc.utf8_slice_codeunits(texts, 0, size)


def _each(texts: pa.Array | pa.ChunkedArray, value: Callable[[str], Any], as_type: pa.DataType) -> pa.Array:
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    encoded = whole.cast(pa.string()).dictionary_encode()
    found = pa.array([value(one) for one in encoded.dictionary.to_pylist()], as_type)
    return found.take(encoded.indices)


def _stored_type(spark_type: str) -> pa.DataType:
    """Return the type of what a reader gives: dates and moments as integers."""
    found = arrow_type(spark_type)
    return {pa.date32(): pa.int32()}.get(found, pa.int64() if pa.types.is_timestamp(found) else found)


def _reader(of: DataType, spark_type: str) -> Callable[[str], Any]:
    """Return what reads a text as the value that Arrow takes for a type; it returns None for no such value."""
    if spark_type == TEXT:
        return _text_reader(of)
    if size := decimal_size(spark_type):
        return partial(_decimal, size)
    readers: dict[str, Callable[[str], Any]] = {
        "BOOLEAN": _truth,
        "INT": partial(_whole, 31),
        "BIGINT": partial(_whole, 63),
        "FLOAT": partial(_float, np.float32),
        "DOUBLE": partial(_float, np.float64),
        "BINARY": _bytes,
        "DATE": _date,
        "TIMESTAMP_NTZ": partial(_moment, has_zone=False),
        "TIMESTAMP": partial(_moment, has_zone=True),
    }
    return readers[spark_type]


def _text_reader(of: DataType) -> Callable[[str], str | None]:
    if not of.is_builtin:
        return str
    size = _size(of)
    if size is not None:
        return lambda text: text if len(text) <= size else None
    return _numeric if of.name == "numeric" else str


def _whole(bits: int, text: str) -> int | None:
    bare = text.strip(_BLANKS)
    if not _WHOLE.fullmatch(bare) or len(bare) > 40:
        return None
    return found if -(1 << bits) <= (found := int(bare)) < 1 << bits else None


def _float(of: Any, text: str) -> float | None:
    bare = text.strip(_BLANKS)
    if not _FLOAT.fullmatch(bare):
        return None
    with np.errstate(over="ignore", under="ignore"):
        found = of(bare)
    is_infinite = "inf" in bare.lower()
    mantissa = bare.lower().partition("e")[0]
    is_lost = (np.isinf(found) and not is_infinite) or (found == 0 and re.search("[1-9]", mantissa))
    return None if is_lost else float(found)


def _decimal(size: tuple[int, int], text: str) -> Decimal | None:
    precision, scale = size
    bare = text.strip(_BLANKS)
    if not _NUMBER.fullmatch(bare):
        return None
    try:
        rounded = Decimal(bare).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        return None
    return rounded if abs(rounded) < Decimal(10) ** (precision - scale) else None


def _numeric(text: str) -> str | None:
    """Return the text that the source writes for a number."""
    bare = text.strip(_BLANKS)
    if bare.lower() == "nan":
        return "NaN"
    if not _NUMERIC.fullmatch(bare):
        return None
    found = Decimal(bare)
    return f"{abs(found) if found == 0 else found:f}"


def _truth(text: str) -> bool | None:
    bare = text.strip(_BLANKS).lower()
    return True if bare in _TRUE else False if bare in _FALSE else None


def _bytes(text: str) -> bytes | None:
    found = _BYTES.fullmatch(text.strip(_BLANKS))
    return bytes.fromhex(found[1]) if found else None


def _date(text: str) -> int | None:
    bare = text.strip(_BLANKS).lower()
    if bare in ("infinity", "-infinity"):
        return _end(31, bare)
    found = _MOMENT.fullmatch(bare)
    days = _days(found) if found else None
    return days if days is not None and abs(days) < 1 << 31 else None


def _moment(text: str, *, has_zone: bool) -> int | None:
    """Return the microseconds since 1970, of a text without a zone in UTC."""
    bare = text.strip(_BLANKS).lower()
    if bare in ("infinity", "-infinity"):
        return _end(63, bare)
    found = _MOMENT.fullmatch(bare)
    days = _days(found) if found else None
    if found is None or days is None or (found[5] and not found[3]):  # of a year BC DuckDB reads no day alone
        return None
    clock, zone = found[3] or "00:00", found[4] or ""
    hour, minute, second = (*clock.split(":"), "0")[:3]
    microseconds = (int(hour) * 60 + int(minute)) * 60_000_000 + int(Decimal(second) * 1_000_000)
    if has_zone and zone not in ("", "z"):
        away = int(zone[1:3]) * 60 + int(zone[4:6] or 0)
        microseconds -= away * 60_000_000 * (-1 if zone[0] == "-" else 1)
    moment = days * _DAY_MICROSECONDS + microseconds
    return moment if abs(moment) < (1 << 63) - 1 else None


def _end(bits: int, text: str) -> int:
    last = (1 << bits) - 1
    return -last if text[0] == "-" else last


def _days(found: re.Match[str]) -> int | None:
    """Return the days since 1970; None: there is no such day."""
    year = int(found[1])
    if not 0 < year < 6_000_000:
        return None
    in_400 = (1 - year if found[5] else year) % 400 + 400
    cycles = ((1 - year if found[5] else year) - in_400) // 400
    try:
        days = int(np.datetime64(f"{in_400:04}{found[2]}", "D").astype(np.int64))
    except ValueError:
        return None
    return days + cycles * 146_097


def _size(of: DataType) -> int | None:
    """Return how many characters a type may have; None: it has no limit, or is no text."""
    return of.modifier - 4 if of.is_builtin and of.name in _LIMITED and of.modifier >= 4 else None
