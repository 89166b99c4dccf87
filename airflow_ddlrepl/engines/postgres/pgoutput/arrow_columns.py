"""This module builds Arrow columns from the places of their values in messages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import Codec, Shape
from airflow_ddlrepl.engines.postgres.pgoutput.tuple_offsets import BINARY, Field
from airflow_ddlrepl.engines.postgres.pgoutput.wire import AnyArray, Ints, Mask, Messages

WIRE = {
    pa.int16(): (">i2", np.int16),
    pa.int32(): (">i4", np.int32),
    pa.int64(): (">i8", np.int64),
    pa.float32(): (">f4", np.float32),
    pa.float64(): (">f8", np.float64),
}


def column(data: Messages, field: Field, codec: Codec, mark: int) -> pa.Array:
    """Return the values of one column as an Arrow array; rows without one are null."""
    if codec.shape is Shape.FIXED:
        return _fixed(data, field, codec) if mark == BINARY else strings(data, field, pa.string()).cast(codec.arrow)
    if codec.shape is Shape.BOOL:
        return _bools(data, field, 1 if mark == BINARY else ord("t"))
    if codec.shape is Shape.JSONB:
        return strings(data, Field(field.start + 1, _shorter(field), field.valid), pa.string())
    if codec.shape is Shape.CHAR:
        return chars(strings(data, field, pa.binary()))
    return strings(data, field, codec.arrow)


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Return a mask as Arrow's validity bits; None where every row has a value."""
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def primitive(values: AnyArray, kind: pa.DataType, valid: Mask | None = None) -> pa.Array:
    """Return an Arrow array over numpy values, which are not copied."""
    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), pa.py_buffer(values)])


def _fixed(data: Messages, field: Field, codec: Codec) -> pa.Array:
    wire, native = WIRE[codec.arrow]
    if field.valid is None:
        return primitive(data.gather(wire, field.start).astype(native), codec.arrow)
    rows = np.flatnonzero(field.valid)
    values = np.zeros(len(field.start), native)
    values[rows] = data.gather(wire, field.start[rows])
    return primitive(values, codec.arrow, field.valid)


def _bools(data: Messages, field: Field, true: int) -> pa.Array:
    if field.valid is None:
        values = data.bytes[field.start] == true
    else:
        values = np.zeros(len(field.start), np.bool_)
        values[field.valid] = data.bytes[field.start[field.valid]] == true
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [bitmap(field.valid), bits])


def strings(data: Messages, field: Field, kind: pa.DataType) -> pa.Array:
    """Return values of varying length as an Arrow array.

    The places ascend, so [start, end, start, end, …] are the offsets of an Arrow array over the
    messages themselves, in which every second element is a value: one `take` copies them out.
    """
    total = len(field.start)
    start, length = field.start, field.length
    if field.valid is not None:
        start, length = start[field.valid], field.lengths()[field.valid]
    if not len(start):
        return pa.nulls(total, kind)
    end = start + length
    if (end < start).any() or end[-1] > len(data.bytes) or (start[1:] < end[:-1]).any():
        raise IndexError("a value is longer than its message")
    offsets = np.empty(2 * len(start), np.int32)
    offsets[0::2], offsets[1::2] = start, end
    source = pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(offsets), data.data])
    return source.take(_every_second(field.valid, total))


def _every_second(valid: Mask | None, total: int) -> pa.Array:
    if valid is None:
        return primitive(np.arange(0, 2 * total, 2, dtype=np.int32), pa.int32())
    ranks = (np.cumsum(valid, dtype=np.int32) - 1) * 2
    return primitive(np.maximum(ranks, 0).astype(np.int32), pa.int32(), valid)


def _shorter(field: Field) -> Ints | int:
    """Return the lengths without jsonb's version byte; a row without a value stays at 0."""
    shorter: Ints = np.maximum(field.lengths() - 1, 0).astype(np.int64)
    return shorter


def chars(values: pa.Array) -> pa.Array:
    r"""Return values of the type "char" as the server prints them: nothing for a zero byte, \ooo above ASCII."""
    distinct = values.dictionary_encode()
    words = pa.array([_char(v.as_py()) for v in distinct.dictionary], pa.string())
    return (
        pa.DictionaryArray.from_arrays(distinct.indices, words).dictionary_decode()
        if len(words)
        else values.cast(pa.string())
    )


def _char(value: bytes) -> str:
    code = value[0] if value else 0
    return "" if code == 0 else chr(code) if code < 128 else f"\\{code:03o}"


def expand(values: pa.Array, rows: Ints, total: int) -> pa.Array:
    """Return an array of `total` rows with the values at these rows, and null elsewhere."""
    if len(rows) == total:
        return values
    index = np.zeros(total, np.int32)
    valid = np.zeros(total, np.bool_)
    index[rows] = np.arange(len(rows), dtype=np.int32)
    valid[rows] = True
    if not len(rows):
        return pa.nulls(total, values.type)
    return values.take(primitive(index, pa.int32(), valid))


def absent_bitmaps(unchanged: dict[int, Mask], columns: int, total: int) -> pa.Array:
    """Return for each row which columns have no value: bit i % 8 of byte i // 8; null where all have one."""
    if not unchanged:
        return pa.nulls(total, pa.binary())
    width = (columns + 7) // 8
    bits = np.zeros((total, width), np.uint8)
    for index, mask in unchanged.items():
        bits[mask, index // 8] |= np.uint8(1 << (index % 8))
    valid = np.asarray(bits.any(axis=1))
    offsets = primitive(np.arange(total + 1, dtype=np.int32) * width, pa.int32()).buffers()[1]
    everything = pa.Array.from_buffers(pa.binary(), total, [None, offsets, pa.py_buffer(bits.ravel())])
    return pc.if_else(primitive_bool(valid), everything, pa.scalar(None, pa.binary()))


def primitive_bool(values: Mask) -> pa.Array:
    """Return an Arrow array of booleans without nulls."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bitmap(values)])
