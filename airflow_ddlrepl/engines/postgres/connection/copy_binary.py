"""This module reads rows in COPY's binary format: each value is in the send format of its type."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

_HEAD = 19  # bytes of the header, the last four of which are the length of an extension behind it
_BATCH = 1 << 14
_COUNT, _LENGTH = struct.Struct(">h"), struct.Struct(">i")


def read_copy_binary(blocks: Iterable[bytes], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a COPY wrote in its binary format, as batches of bytes."""
    rows: list[list[bytes | None]] = []
    data, place, is_begun = b"", 0, False
    for block in blocks:
        data, place = data[place:] + block, 0
        if not is_begun:
            if len(data) < _HEAD:
                continue
            place, is_begun = _HEAD + _LENGTH.unpack_from(data, _HEAD - 4)[0], True
        while (found := _row(data, place)) is not None:
            row, place = found
            rows.append(row)
            if len(rows) == _BATCH:
                yield _batch(rows, columns)
                rows = []
    if rows:
        yield _batch(rows, columns)


def _row(data: bytes, place: int) -> tuple[list[bytes | None], int] | None:
    """Return the values of the row at a place, and where it ends; None at the end of the rows or of the data."""
    size = len(data)
    if place + 2 > size:
        return None
    count = _COUNT.unpack_from(data, place)[0]
    if count < 0:
        return None
    place += 2
    row: list[bytes | None] = []
    for _ in range(count):
        if place + 4 > size:
            return None
        length = _LENGTH.unpack_from(data, place)[0]
        place += 4
        if length < 0:
            row.append(None)
            continue
        if place + length > size:
            return None
        row.append(data[place : place + length])
        place += length
    return row, place


def _batch(rows: Sequence[Sequence[bytes | None]], columns: Sequence[str]) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_pydict({"": pa.nulls(len(rows), pa.string())}).select([])
    arrays = [pa.array(values, pa.binary()) for values in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
