"""This module decodes the row messages of tables into Arrow batches, in the way that is cheaper for them.

What a column takes to decode hardly depends on how many of a few thousand rows there are. So tables with a few rows
each that the log describes alike are decoded as one table, and their rows are then told apart. A few rows of a table
without others like it are decoded value by value: that costs a fifth of what all values of a column at once do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.pgoutput import row_messages
from airflow_ddlrepl.engines.postgres.pgoutput.arrow_columns import WIRE, absent_bitmaps, bitmap, chars, primitive
from airflow_ddlrepl.engines.postgres.pgoutput.batch import Batch
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import Codec, Shape
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import Malformed
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import Compiled
from airflow_ddlrepl.engines.postgres.pgoutput.row_messages import (
    BEFORE,
    DELETE,
    KEY,
    NEW,
    OLD,
    OPS,
    UPDATE,
    check_mark,
)
from airflow_ddlrepl.engines.postgres.pgoutput.tuple_offsets import BINARY, NULL, UNCHANGED
from airflow_ddlrepl.engines.postgres.pgoutput.wire import Ints, Mask, Messages

MOST_ROWS = 16
MOST_BYTES = 1 << 16
MOST_TOGETHER = 1000  # a table with more rows gains nothing by others
_NONE = frozenset[int]()

Values = list[bytes | None]
Row = tuple[Values, frozenset[int]]
"""A row has its values, None for those that are null or left out, and the numbers of those that the log left out."""


def batches(one: Batch, tables: Sequence[tuple[Compiled, Ints]]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each table, in the order of the tables: those of its messages, by their numbers.

    Raises Malformed or IndexError for the first table with a message that is not understood.
    """
    alike: dict[tuple[int, bool], list[int]] = {}
    for place, (compiled, index) in enumerate(tables):
        if len(index) <= MOST_TOGETHER:
            alike.setdefault((id(compiled.schema), compiled.is_full), []).append(place)
    found: dict[int, pa.RecordBatch] = {}
    for places in alike.values():
        with suppress(Malformed, IndexError, pa.ArrowInvalid):  # alone it is known of which table the message is
            if len(places) > 1:
                found |= zip(places, _together(one, [tables[place] for place in places]), strict=True)
    for place, (compiled, index) in enumerate(tables):
        if place in found:
            yield found[place]
        else:
            yield batch(one.data, index, compiled, one.lsn[one.number[index]], one.seq[index])


def _together(one: Batch, tables: Sequence[tuple[Compiled, Ints]]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each of these tables, whose columns are the same."""
    index = np.concatenate([rows for _, rows in tables])
    order = np.argsort(index, kind="stable")
    ascending = index[order]
    lsn, seq = one.lsn[one.number[ascending]], one.seq[ascending]
    whole = row_messages.batch(one.data, ascending, tables[0][0], lsn, seq)
    if (np.diff(order) != 1).any():
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        whole = whole.take(pa.array(back))
    low = 0
    for _, rows in tables:
        yield whole.slice(low, len(rows))
        low += len(rows)


def batch(data: Messages, index: Ints, compiled: Compiled, lsn: Ints, seq: Ints) -> pa.RecordBatch:
    """Return the rows of these messages, in their order. Raises Malformed or IndexError."""
    if len(index) > MOST_ROWS or int((data.ends[index] - data.starts[index]).sum()) > MOST_BYTES:
        return row_messages.batch(data, index, compiled, lsn, seq)
    messages = [data.message(one) for one in index.tolist()]
    rows = [_rows(message, compiled) for message in messages]
    new, old = [row for _, row in rows], [row for row, _ in rows]
    return pa.RecordBatch.from_arrays(
        [
            primitive(lsn, pa.int64()),
            primitive(seq, pa.int64()),
            primitive(OPS[[message[0] for message in messages]], pa.int8()),
            primitive(BEFORE[[message[5] for message in messages]], pa.int8()),
            _absent(new, len(compiled.codecs)),
            *(_column(new, number, codec, compiled.mark) for number, codec in enumerate(compiled.codecs)),
            *(_column(old, number, compiled.codecs[number], compiled.mark) for number in compiled.old_columns),
        ],
        schema=compiled.schema,
    )


def _rows(message: bytes, compiled: Compiled) -> tuple[Row | None, Row | None]:
    """Return the old and the new row of a message, as far as it has them."""
    kind, mark, place = message[0], message[5], 6
    check_mark(kind, mark, OLD if compiled.is_full else KEY)
    old = new = None
    if mark != NEW:
        old, place = _row(message, place, compiled)
        if kind == UPDATE:
            if message[place] != NEW:
                raise Malformed("an update has no new row")
            place += 1
    if kind != DELETE:
        new, place = _row(message, place, compiled)
    if place != len(message):
        raise Malformed("a row does not end where its message ends")
    return old, _filled(new, old) if old and new and compiled.is_full else new


def _row(message: bytes, place: int, compiled: Compiled) -> tuple[Row, int]:
    """Return the row that starts at `place`, and where it ends."""
    if int.from_bytes(message[place : place + 2], "big") != len(compiled.codecs):
        raise Malformed("a row has another number of columns than its relation")
    place += 2
    values: Values = []
    left_out = []
    for codec in compiled.codecs:
        kind = message[place]
        if kind == compiled.mark:
            start = place + 5
            length = int.from_bytes(message[place + 1 : start], "big", signed=True)
            place = start + length
            if length < 0 or place > len(message) or (codec.size and kind == BINARY and length != codec.size):
                raise Malformed("a value is longer or shorter than it may be")
            values.append(message[start:place])
            continue
        if kind == UNCHANGED:
            left_out.append(len(values))
        elif kind != NULL:
            raise Malformed("a value comes in a format that was not asked for")
        values.append(None)
        place += 1
    return (values, frozenset(left_out) if left_out else _NONE), place


def _filled(new: Row, old: Row) -> Row:
    """Return the new row with the values that the log left out taken from the whole old row."""
    if not new[1]:
        return new
    if old[1]:
        raise Malformed("an old value is left out")
    return [old[0][number] if number in new[1] else value for number, value in enumerate(new[0])], _NONE


def _absent(rows: Sequence[Row | None], columns: int) -> pa.Array:
    masks: dict[int, Mask] = {}
    for number in {number for row in rows if row for number in row[1]}:
        masks[number] = np.array([row is not None and number in row[1] for row in rows], np.bool_)
    return absent_bitmaps(masks, columns, len(rows)) if masks else _nulls(len(rows), pa.binary())


def _column(rows: Sequence[Row | None], number: int, codec: Codec, mark: int) -> pa.Array:
    values = [row[0][number] if row is not None else None for row in rows]
    has_nulls = None in values
    if has_nulls and not any(value is not None for value in values):
        return _nulls(len(values), codec.arrow)
    valid = np.array([value is not None for value in values], np.bool_) if has_nulls else None
    return _array([value or b"" for value in values], valid, codec, mark)


def _array(values: Sequence[bytes], valid: Mask | None, codec: Codec, mark: int) -> pa.Array:
    """Return values as an Arrow array, as `arrow_columns.column` does."""
    if codec.shape is Shape.FIXED and mark == BINARY:
        wire, native = WIRE[codec.arrow]
        numbers = np.frombuffer(b"".join([value or bytes(codec.size) for value in values]), wire)
        return primitive(numbers.astype(native), codec.arrow, valid)
    if codec.shape is Shape.FIXED:
        return _strings(values, valid, pa.string()).cast(codec.arrow)
    if codec.shape is Shape.BOOL:
        true = b"\x01" if mark == BINARY else b"t"
        bits = bitmap(np.array([value == true for value in values], np.bool_))
        return pa.Array.from_buffers(pa.bool_(), len(values), [bitmap(valid), bits])
    if codec.shape is Shape.JSONB:
        return _strings([value[1:] for value in values], valid, pa.string())
    if codec.shape is Shape.CHAR:
        return chars(_strings(values, valid, pa.binary()))
    return _strings(values, valid, codec.arrow)


def _strings(values: Sequence[bytes], valid: Mask | None, kind: pa.DataType) -> pa.Array:
    ends = np.array([0, *accumulate(map(len, values))], np.int32)
    buffers = [bitmap(valid), pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


@lru_cache(maxsize=512)
def _nulls(count: int, kind: pa.DataType) -> pa.Array:
    return pa.nulls(count, kind)
