"""This module reads values in PostgreSQL's send format, and in the trail's own forms, as Arrow values and as texts.

The trail has some types as Arrow values of its own (`pgoutput.binary_types.NATIVE`): dates and moments are numbers
there, counted from 2000 on. All else is in send format; what is not read at once for a whole column is read by its
text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.pgoutput.arrow_columns import chars, strings
from airflow_ddlrepl.engines.postgres.pgoutput.tuple_offsets import Field
from airflow_ddlrepl.engines.postgres.pgoutput.wire import Messages
from airflow_ddlrepl.engines.postgres.types.moments import DAY, DAYS, MICROS, date_text, moment_text
from airflow_ddlrepl.engines.postgres.types.numerics import decimals, numeric_texts, spread, unfit
from airflow_ddlrepl.engines.postgres.types.send_format import (
    TEXTS,
    array_head,
    float_text,
    iso_interval,
    pieces,
    time_text,
)
from airflow_ddlrepl.engines.postgres.types.text_values import Fitted, as_lists, cast, read_texts
from airflow_ddlrepl.ports.change_values import NotShown

_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_UUID_PARTS = ((0, 4, 0), (4, 6, 9), (6, 8, 14), (8, 10, 19), (10, 16, 24))  # bytes from, to; place in the text
_FIXED = {"int2": ">i2", "int4": ">i4", "int8": ">i8", "float4": ">f4", "float8": ">f8", "date": ">i4"} | dict.fromkeys(
    ("time", "timestamp", "timestamptz"), ">i8"
)
_STRINGS = ("text", "varchar", "bpchar", "name", "json", "xml", "refcursor", "enum")
_MOMENTS: dict[str, tuple[int, Any, pa.DataType]] = {
    "date": (DAYS, np.int32, pa.date32()),
    "timestamp": (MICROS, np.int64, pa.timestamp("us")),
    "timestamptz": (MICROS, np.int64, pa.timestamp("us", "UTC")),
}
_INTERVAL = np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")])
_MONTHS_DAYS_NANOS = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])


def read_native(values: pa.Array, name: str, as_type: pa.DataType, *, with_ends: bool = False) -> Fitted:
    """Return values that the trail has as Arrow values. with_ends: see `ports.change_values.wanted`."""
    if pa.types.is_string(as_type):
        return Fitted(native_texts(values, name))
    if name in _MOMENTS:
        own = _since_1970(values, name, with_ends)
        found = cast(own.values, as_type)
        return found if own.bad is None else Fitted(found.values, own.bad if found.bad is None else own.bad | found.bad)
    if name == "time":
        return _times_of_day(values, as_type, with_ends)
    if name == "uuid" and as_type == pa.uuid():
        return Fitted(pa.ExtensionArray.from_storage(as_type, values.cast(pa.binary(16))))
    return cast(values, as_type)


def read_sent(values: pa.Array, name: str, as_type: pa.DataType, *, with_ends: bool = False) -> Fitted:
    """Return values in send format. name: of their type, as the catalog calls it, `int4[]` for an array."""
    if values.null_count == len(values):
        return Fitted(pa.nulls(len(values), as_type))
    if (native := _as_native(values, name)) is not None:
        return read_native(native, name, as_type, with_ends=with_ends)
    if pa.types.is_decimal128(as_type) and name == "numeric" and 0 <= as_type.scale <= as_type.precision:
        return _numbers(values, as_type)
    if as_type == pa.month_day_nano_interval() and name == "interval":
        return _intervals(values)
    if pa.types.is_list(as_type) and name.endswith("[]"):
        return _lists(values, name, as_type, with_ends)
    return read_texts(sent_texts(values, name), as_type, with_ends=with_ends)


def sent_texts(values: pa.Array, name: str) -> pa.Array:
    """Return values in send format as the texts that the server writes. Raises NotShown."""
    if name == "numeric":
        return numeric_texts(values)
    if name not in _STRINGS and name not in TEXTS:
        raise NotShown(f"has a type, {name}, whose send format is not read here")
    return values.cast(pa.string()) if name in _STRINGS else _one_by_one(values, TEXTS[name])


def iso_intervals(values: pa.Array) -> pa.Array:
    """Return intervals in send format as texts in ISO 8601."""
    return _one_by_one(values, iso_interval)


def native_texts(values: pa.Array, name: str) -> pa.Array:
    """Return values that the trail has as Arrow values as the texts that the server writes."""
    if pa.types.is_string(values.type):
        return values
    write = _WRITTEN.get(name)
    return values.cast(pa.string()) if write is None else write(values)


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
    if pc.max(values).as_py() == DAY:  # 24:00, which Arrow does not know
        return _one_by_one(values, time_text)
    return pc.utf8_rtrim(pc.utf8_rtrim(values.cast(pa.time64("us")).cast(pa.string()), "0"), ".")


_WRITTEN: dict[str, Callable[[pa.Array], pa.Array]] = {
    "bool": lambda values: pc.if_else(values, "t", "f"),
    "bytea": lambda values: _one_by_one(values, TEXTS["bytea"]),
    "float4": lambda values: _one_by_one(values, lambda value: float_text(np.float32(value))),
    "float8": lambda values: _one_by_one(values, lambda value: float_text(np.float64(value))),
    "date": lambda values: _one_by_one(values, date_text),
    "time": _times,
    "timestamp": lambda values: _one_by_one(values, moment_text),
    "timestamptz": lambda values: _one_by_one(values, lambda value: moment_text(value, "+00")),
    "uuid": _uuids,
}


def _since_1970(values: pa.Array, name: str, with_ends: bool) -> Fitted:
    """Return dates or moments; infinities are the ends of the integers, where these are wanted."""
    shift, kind, own = _MOMENTS[name]
    numbers = values.fill_null(0).to_numpy()
    ends = np.iinfo(kind)
    is_infinite = (numbers == ends.max) | (numbers == ends.min)
    beyond = numbers >= ends.max - shift
    found = numbers + kind(shift) if not beyond.any() else np.where(beyond, 0, numbers + (~beyond * kind(shift)))
    bad = is_infinite | beyond
    if not bad.any():
        return Fitted(_view(found.astype(kind), own, values))
    if with_ends:
        found = np.where(is_infinite, np.where(numbers > 0, ends.max, -ends.max), found)
        bad &= ~is_infinite
    return _fitted(_view(found.astype(kind), own, values), bad)


def _view(numbers: Any, as_type: pa.DataType, like: pa.Array) -> pa.Array:
    """Return numbers of numpy as an Arrow array with the nulls of another one."""
    found = pa.Array.from_buffers(as_type, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
    return pc.if_else(like.is_valid(), found, pa.scalar(None, as_type)) if like.null_count else found


def _fitted(values: pa.Array, bad: Any) -> Fitted:
    """Return the values without those that do not fit."""
    if not bad.any():
        return Fitted(values)
    return Fitted(pc.if_else(pa.array(bad), pa.scalar(None, values.type), values), bad)


def _times_of_day(values: pa.Array, as_type: pa.DataType, with_ends: bool) -> Fitted:
    plain = values.cast(pa.int64()).view(pa.time64("us"))
    if with_ends and as_type == plain.type:
        return Fitted(plain)
    bad = pc.fill_null(pc.equal(values, DAY), False).to_numpy(zero_copy_only=False)
    own = _fitted(plain, bad)
    found = cast(own.values, as_type)
    return Fitted(found.values, own.bad if found.bad is None else found.bad | bad)


def _numbers(values: pa.Array, as_type: pa.DataType) -> Fitted:
    precision, scale = as_type.precision, as_type.scale
    try:
        return Fitted(decimals(values, precision, scale))
    except ValueError:
        bad = unfit(values, precision, scale)
        fitting = pc.if_else(pa.array(bad), pa.scalar(None, values.type), values)
        return Fitted(decimals(fitting, precision, scale), bad)


def _intervals(values: pa.Array) -> Fitted:
    found = values.drop_null()
    sent = _fixed_bytes(found, _INTERVAL)
    micros = sent["micros"].astype(np.int64)
    most = np.iinfo(np.int64).max // 1000  # the infinities have more
    bad = (micros > most) | (micros < -most)
    parts = np.empty(len(found), _MONTHS_DAYS_NANOS)
    parts["months"], parts["days"], parts["nanos"] = sent["months"], sent["days"], np.where(bad, 0, micros) * 1000
    as_type = pa.month_day_nano_interval()
    whole = spread(pa.Array.from_buffers(as_type, len(found), [None, pa.py_buffer(parts)]), values)
    everything = np.zeros(len(values), np.bool_)
    everything[values.is_valid().to_numpy(zero_copy_only=False)] = bad
    return _fitted(whole, everything)


def _fixed_bytes(values: pa.Array, kind: Any) -> Any:
    """Return values without nulls, all of one size, as numpy values of a type of that size."""
    size = np.dtype(kind).itemsize
    if pa.types.is_fixed_size_binary(values.type):
        first = size * values.offset
    else:
        first = int(np.frombuffer(values.buffers()[1], np.int32)[values.offset]) if len(values) else 0
    data = values.buffers()[-1]
    return np.frombuffer(data, np.uint8)[first : first + size * len(values)].view(kind) if data else np.empty(0, kind)


def _as_native(values: pa.Array, name: str) -> pa.Array | None:
    """Return values in send format as the trail has them as Arrow values; None for a type that it has not so."""
    if name in _FIXED:
        numbers = _fixed_bytes(values.drop_null(), _FIXED[name])
        return spread(pa.array(numbers.astype(numbers.dtype.newbyteorder("="))), values)
    if name == "bool":
        return spread(pa.array(_fixed_bytes(values.drop_null(), np.uint8).astype(np.bool_)), values)
    if name in _STRINGS:
        return values.cast(pa.string())
    if name in ("jsonb", "jsonpath"):
        return pc.binary_replace_slice(values, 0, 1, b"").cast(pa.string())
    if name == "char":
        return chars(values)
    return values if name in ("bytea", "uuid") else None


def _flat_lists(values: pa.Array, name: str, as_type: pa.DataType, with_ends: bool) -> Fitted:
    """Return arrays of one dimension, read together: the first items of all, the second ones, and so on."""
    found = Messages(values)
    missing = ~values.is_valid().to_numpy(zero_copy_only=False)
    there = np.flatnonzero(~missing)
    dimensions = found.gather(">i4", found.starts[there])
    flat = there[dimensions == 1]
    is_usual = found.gather(">i4", found.starts[flat] + 16) == 1
    bad = np.zeros(len(values), np.bool_)
    bad[there[dimensions > 1]] = True
    bad[flat[~is_usual]] = True
    rows = flat[is_usual]
    sizes = np.zeros(len(values), np.int64)
    sizes[rows] = found.gather(">i4", found.starts[rows] + 12)
    items = _items(found, rows, sizes)
    return as_lists(read_sent(items, name[:-2], as_type.value_type, with_ends=with_ends), sizes, missing, bad, as_type)


def _items(found: Messages, rows: Any, sizes: Any) -> pa.Array:
    """Return the items of arrays of one dimension, one array after the other."""
    place, steps, number = found.starts[rows] + 20, [], 0
    while True:
        more = sizes[rows] > number
        rows, place, number = rows[more], place[more], number + 1
        if not len(rows):
            break
        length = found.gather(">i4", place).astype(np.int64)
        steps.append((rows, place + 4, length))
        place = place + 4 + np.maximum(length, 0)
    if not steps:
        return pa.nulls(0, pa.binary())
    of, start, length = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    order = np.argsort(of, kind="stable")
    start, length = start[order], length[order]
    has = length >= 0
    return strings(found, Field(start, np.maximum(length, 0), None if has.all() else has), pa.binary())


def _lists(values: pa.Array, name: str, as_type: pa.DataType, with_ends: bool) -> Fitted:
    """Return arrays; those of other dimensions than the lists, or whose first item is not number 1, do not fit."""
    if not pa.types.is_list(as_type.value_type):
        return _flat_lists(values, name, as_type, with_ends)
    depth, item = 1, as_type.value_type
    while pa.types.is_list(item):
        depth, item = depth + 1, item.value_type
    items: list[bytes | None] = []
    sizes: list[list[int]] = [[] for _ in range(depth)]
    bad = np.zeros(len(values), np.bool_)
    for place, value in enumerate(values.to_pylist()):
        _, of, firsts = array_head(value) if value is not None else (0, (), ())
        bad[place] = bool(of) and (len(of) != depth or set(firsts) != {1})
        if bad[place] or not of:
            sizes[0].append(0)
            continue
        count = 1
        for level, size in enumerate(of):
            sizes[level] += [size] * count
            count *= size
        items += pieces(value, 12 + 8 * len(of), count)
    found = read_sent(pa.array(items, pa.binary()), name[:-2], item, with_ends=with_ends)
    types = [as_type]
    while pa.types.is_list(types[-1].value_type):
        types.append(types[-1].value_type)
    for level in range(depth - 1, 0, -1):
        none = np.zeros(len(sizes[level]), np.bool_)
        found = as_lists(found, np.array(sizes[level], np.int64), none, none, types[level])
    missing = ~values.is_valid().to_numpy(zero_copy_only=False)
    return as_lists(found, np.array(sizes[0], np.int64), missing, bad, as_type)
