"""This module reads the texts that PostgreSQL writes values with as Arrow values, and says which of them do not fit.

A text that Arrow reads itself is read with all others of its column at once; the rest is read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.types.literals import array_items, composite_fields
from airflow_ddlrepl.engines.postgres.types.moments import DAY, INFINITIES, since_1970

_TIME, _FIRST_DAY = pa.time64("us"), "1970-01-01 "
_INTERVAL = re.compile(
    r"(?=.)(?:(?P<years>[-+]?\d+) years? ?)?(?:(?P<months>[-+]?\d+) mons? ?)?(?:(?P<days>[-+]?\d+) days? ?)?"
    r"(?:(?P<sign>[-+]?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?"
)
_ISO_INTERVAL = re.compile(
    r"P(?:(?P<years>-?\d+)Y)?(?:(?P<months>-?\d+)M)?(?:(?P<days>-?\d+)D)?"
    r"(?:T(?:(?P<hours>-?\d+)H)?(?:(?P<minutes>-?\d+)M)?(?:(?P<seconds>-?\d+)(?:\.(?P<fraction>\d{1,6}))?S)?)?"
)


class Fitted(NamedTuple):
    """Fitted values are those of an Arrow type; a value that has no equal in it is null there."""

    values: pa.Array
    bad: Any = None  # a numpy mask of the values that do not fit; None: all fit


class _Unfit(Exception):
    """This exception says that a value has no equal in a type."""


def read_texts(texts: pa.Array, as_type: pa.DataType, *, with_ends: bool = False) -> Fitted:
    """Return the values of a column of texts. with_ends: see `ports.change_values.wanted`."""
    if isinstance(as_type, pa.BaseExtensionType):
        stored = read_texts(texts, as_type.storage_type, with_ends=with_ends)
        return Fitted(pa.ExtensionArray.from_storage(as_type, stored.values), stored.bad)
    if pa.types.is_string(as_type) or texts.null_count == len(texts):
        return Fitted(texts if pa.types.is_string(as_type) else pa.nulls(len(texts), as_type))
    if pa.types.is_list(as_type) or pa.types.is_struct(as_type):
        read = _lists if pa.types.is_list(as_type) else _structs
        return read(texts.to_pylist(), as_type, with_ends)
    if not _one_by_one(as_type):
        try:
            return Fitted(_times(texts) if as_type == _TIME else texts.cast(as_type))
        except pa.ArrowException:
            pass
    known = texts.dictionary_encode()
    found = fit_each(known.dictionary, as_type, lambda text: _value(text, as_type, with_ends))
    bad = None if found.bad is None else found.bad[np.asarray(known.indices.fill_null(0))] & _valid(texts)
    return Fitted(found.values.take(known.indices), bad)


def _times(texts: pa.Array) -> pa.Array:
    moments = pc.binary_join_element_wise(_FIRST_DAY, texts, "").cast(pa.timestamp("us"))
    return moments.view(pa.int64()).view(_TIME)


def fit_each(values: pa.Array, as_type: pa.DataType, read: Callable[[Any], Any]) -> Fitted:
    """Return values read one by one. read: raises ValueError for one that does not fit."""
    found, bad = [], np.zeros(len(values), np.bool_)
    for place, value in enumerate(values.to_pylist()):
        try:
            found.append(None if value is None else read(value))
        except (_Unfit, ValueError, ArithmeticError):
            found.append(None)
            bad[place] = True
    return Fitted(_array(found, as_type), bad if bad.any() else None)


def cast(values: pa.Array, as_type: pa.DataType) -> Fitted:
    """Return Arrow values as those of another type; null where one is no value of that."""
    if values.type == as_type:
        return Fitted(values)
    if isinstance(as_type, pa.BaseExtensionType):
        stored = cast(values, as_type.storage_type)
        return Fitted(pa.ExtensionArray.from_storage(as_type, stored.values), stored.bad)
    try:
        return Fitted(values.cast(as_type))
    except pa.ArrowException:
        pass
    known = values.dictionary_encode()
    pieces = list(_halves(known.dictionary, as_type))
    bad = np.concatenate([np.full(len(piece), not fits) for piece, fits in pieces])
    indices = np.asarray(known.indices.fill_null(0))
    return Fitted(pa.concat_arrays([piece for piece, _ in pieces]).take(known.indices), bad[indices] & _valid(values))


def _halves(values: pa.Array, as_type: pa.DataType) -> Any:
    """Yield pieces of the values in the type, and whether they fit: what does not is cut until it is one value."""
    try:
        yield values.cast(as_type), True
    except pa.ArrowException:
        if len(values) == 1:
            yield pa.nulls(1, as_type), False
            return
        middle = len(values) // 2
        yield from _halves(values[:middle], as_type)
        yield from _halves(values[middle:], as_type)


def _valid(values: pa.Array) -> Any:
    return values.is_valid().to_numpy(zero_copy_only=False)


def _one_by_one(as_type: pa.DataType) -> bool:
    """Return whether Arrow reads such values from no text of PostgreSQL's, or reads it in another way."""
    binary = pa.types.is_binary(as_type) or pa.types.is_fixed_size_binary(as_type)
    return binary or pa.types.is_boolean(as_type) or bool(as_type == pa.month_day_nano_interval())


def _array(found: Sequence[Any], as_type: pa.DataType) -> pa.Array:
    """Return Arrow values of Python's; a date, time or moment is its integer."""
    if pa.types.is_temporal(as_type) and as_type != pa.month_day_nano_interval():
        plain = pa.int32() if as_type.bit_width == 32 else pa.int64()
        return pa.array(found, plain).view(as_type)
    return pa.array(found, as_type)


def _value(text: str, as_type: pa.DataType, with_ends: bool) -> Any:
    """Return the value of a text, for a date, time or moment its integer. Raises ValueError or _Unfit."""
    if pa.types.is_boolean(as_type):
        return {"t": True, "true": True, "f": False, "false": False}[_known(text, ("t", "true", "f", "false"))]
    if pa.types.is_fixed_size_binary(as_type):
        return bytes.fromhex(text.replace("-", ""))
    if pa.types.is_binary(as_type):
        return bytes.fromhex(text.removeprefix("\\x"))
    if as_type == pa.month_day_nano_interval():
        return interval(text)
    if pa.types.is_decimal(as_type):
        return _decimal(text, as_type)
    if as_type == _TIME:
        return _time(text, with_ends)
    if pa.types.is_date(as_type) or pa.types.is_timestamp(as_type):
        return _moment(text, as_type, with_ends)
    try:
        return pa.array([text]).cast(as_type)[0].as_py()
    except pa.ArrowException as error:
        raise _Unfit from error


def _known(text: str, words: Sequence[str]) -> str:
    if text not in words:
        raise _Unfit
    return text


def _decimal(text: str, as_type: pa.DataType) -> Any:
    try:
        return pa.scalar(Decimal(text), as_type).as_py()
    except (InvalidOperation, pa.ArrowException) as error:
        raise _Unfit from error


def _time(text: str, with_ends: bool) -> int:
    found = since_1970(_FIRST_DAY + text)
    if found is None or (found[1] >= DAY and not with_ends):
        raise _Unfit
    return found[1]


def _moment(text: str, as_type: pa.DataType, with_ends: bool) -> int:
    most: int = (1 << (as_type.bit_width - 1)) - 1
    if text in INFINITIES:
        if not with_ends:
            raise _Unfit
        return most if text == INFINITIES[1] else -most
    if (found := since_1970(text)) is None:
        raise _Unfit
    number: int = found[0] if pa.types.is_date(as_type) else found[0] * DAY + found[1]
    if abs(number) >= most:
        raise _Unfit
    return number


def interval(text: str) -> tuple[int, int, int]:
    """Return months, days and nanoseconds of an interval in the style postgres or iso_8601. Raises ValueError."""
    found = _INTERVAL.fullmatch(text) or _ISO_INTERVAL.fullmatch(text)
    if found is None:
        raise _Unfit
    one = {name: int(value) for name, value in found.groupdict().items() if value and name not in ("sign", "fraction")}
    micros = one.get("seconds", 0) * 1_000_000
    micros_of_fraction = int((found["fraction"] or "").ljust(6, "0"))
    micros += -micros_of_fraction if (found["seconds"] or "").startswith("-") else micros_of_fraction
    micros += one.get("hours", 0) * 3_600_000_000 + one.get("minutes", 0) * 60_000_000
    if found.groupdict().get("sign") == "-":
        micros = -micros
    if abs(micros) > ((1 << 63) - 1) // 1000:
        raise _Unfit
    return one.get("years", 0) * 12 + one.get("months", 0), one.get("days", 0), micros * 1000


def _lists(texts: Sequence[str | None], as_type: pa.DataType, with_ends: bool) -> Fitted:
    """Return arrays of one dimension more than their items have; another array does not fit."""
    is_deep = pa.types.is_list(as_type.value_type)
    items: list[str | None] = []
    sizes = np.zeros(len(texts), np.int64)
    bad = np.zeros(len(texts), np.bool_)
    for place, text in enumerate(texts):
        found = () if text is None else array_items(text, is_deep=is_deep)
        if found is None:
            bad[place] = True
        else:
            items += found
            sizes[place] = len(found)
    inner = read_texts(pa.array(items, pa.string()), as_type.value_type, with_ends=with_ends)
    missing = np.array([text is None for text in texts])
    return as_lists(inner, sizes, missing, bad, as_type)


def as_lists(items: Fitted, sizes: Any, missing: Any, bad: Any, as_type: pa.DataType) -> Fitted:
    """Return lists of items, one after the other; a list with an item that does not fit does not fit.

    sizes: of the lists. missing, bad: masks of those that are null, and of those that do not fit.
    """
    ends = np.concatenate(([0], np.cumsum(sizes)))
    if items.bad is not None:
        counts = np.concatenate(([0], np.cumsum(items.bad)))
        bad = bad | (counts[ends[1:]] > counts[ends[:-1]])
    valid = pa.py_buffer(np.packbits(~(missing | bad), bitorder="little"))
    offsets = pa.py_buffer(ends.astype(np.int32))
    values = pa.Array.from_buffers(as_type, len(sizes), [valid, offsets], children=[items.values])
    return Fitted(values, bad if bad.any() else None)


def _structs(texts: Sequence[str | None], as_type: pa.DataType, with_ends: bool) -> Fitted:
    rows = [None if text is None else composite_fields(text) for text in texts]
    missing = np.array([text is None for text in texts])
    counts = np.array([as_type.num_fields if no else len(row or ()) for row, no in zip(rows, missing, strict=True)])
    bad = counts != as_type.num_fields
    fields = []
    for number in range(as_type.num_fields):
        column = [None if no or row is None else row[number] for row, no in zip(rows, bad, strict=True)]
        fields.append(read_texts(pa.array(column, pa.string()), as_type.field(number).type, with_ends=with_ends))
    for field in fields:
        bad = bad if field.bad is None else bad | field.bad
    values = pa.StructArray.from_arrays(
        [field.values for field in fields], fields=list(as_type), mask=pa.array(missing | bad)
    )
    return Fitted(values, bad if bad.any() else None)
