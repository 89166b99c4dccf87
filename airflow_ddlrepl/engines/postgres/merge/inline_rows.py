"""This module defines inline rows: a few staged rows that are sent with the statements that merge them.

So they need no table of their own.
Making, filling and dropping a staging table costs the target more than merging twenty rows. They are sent as one array
per column, in the binary format that COPY takes them in.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.driver import Connection, RawCursor
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import BUILTIN, TEXT_OID, plain_oid

MOST_ROWS = 1000
MOST_BYTES = 1 << 16
MOST_TOGETHER = 8 << 20  # of the tasks that are staged over one connection
CHAR = '"char"'
WRAPPED = "numeric[1]"
NUMERIC_OID = 1700
_SHORT = {"int8": 20, "bool": 16, "bpchar": 1042, "name": 19, CHAR: TEXT_OID, WRAPPED: NUMERIC_OID}
_VECTORS = (22, 30)  # arrays themselves
_HEAD = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i").pack
_NULL = _LENGTH(-1)
FIXED = {
    pa.int16(): ">i2",
    pa.int32(): ">i4",
    pa.int64(): ">i8",
    pa.float32(): ">f4",
    pa.float64(): ">f8",
    pa.bool_(): ">i1",
}
"""How values of a fixed length are sent."""

FEW = 8  # so many numbers are packed one by one in less time than together
_WHOLE = {
    pa.int16(): struct.Struct(">h").pack,
    pa.int32(): struct.Struct(">i").pack,
    pa.int64(): struct.Struct(">q").pack,
    pa.bool_(): struct.Struct(">?").pack,
}


@dataclass(frozen=True, slots=True)
class BinaryArray:
    """A binary array has one column's values in the send format of an array.

    oid: of the array's type.
    """

    oid: int
    data: bytes


@dataclass(frozen=True, slots=True)
class InlineRows:
    """Inline rows are rows of one kind, sent with the statement that merges them.

    names: of the staging columns. values: theirs. Its text never shows a value.
    """

    names: tuple[str, ...]
    values: tuple[BinaryArray, ...] = field(repr=False)

    def sql(self) -> str:
        """Return a query in parentheses that returns the rows as a staging table would.

        `ctid` is different for each.
        """
        numbers = ", ".join(f"${number}" for number in range(1, len(self.names) + 1))
        names = ", ".join(quote(name) for name in (*self.names, "ctid"))
        return f"(SELECT * FROM unnest({numbers}) WITH ORDINALITY AS given({names}))"

    @property
    def size(self) -> int:
        """Return the bytes that the values take in a statement."""
        return sum(len(value.data) for value in self.values)


def as_inline_rows(columns: Sequence[tuple[str, str]], rows: pa.Table) -> InlineRows | None:
    """Return rows as inline rows; None where they need a table.

    They do when there are many, large ones, or some of a type that no array takes as it is.
    columns: (name, SQL type) in the order of the rows' columns, as for `load`.
    """
    oids = [_element(type_) for _, type_ in columns]
    if not columns or rows.num_rows > MOST_ROWS or _is_large(rows) or not all(oids):
        return None
    values = []
    pieces = rows.to_batches() if rows.num_rows < FEW else []
    arrays = pieces[0].columns if len(pieces) == 1 else rows.columns  # an array answers in less time than one in chunks
    for column, (_, type_), oid in zip(arrays, columns, oids, strict=True):
        plain = pc.replace_substring(column, "\0", "") if type_ == CHAR else column
        values.append(BinaryArray(BUILTIN[oid][0], _array(plain, oid)))
    return InlineRows(tuple(name for name, _ in columns), tuple(values))


def _is_large(rows: pa.Table) -> bool:
    """Are there more bytes than go inline? Their buffers tell it in less time, where they have nothing else."""
    return bool(rows.get_total_buffer_size() > MOST_BYTES and rows.nbytes > MOST_BYTES)


def taking(connection: Connection[Any]) -> RawCursor[Any]:
    """Return a cursor whose statements take the values of inline rows as $1, $2, …"""
    from psycopg import RawCursor

    cursor = RawCursor(connection)
    cursor.adapters.register_dumper(BinaryArray, _dumper())
    return cursor


@cache
def _dumper() -> Any:
    """Return the class that sends the values of inline rows as they are."""
    from psycopg.adapt import Dumper, PyFormat
    from psycopg.pq import Format

    known: dict[int, SentDumper] = {}

    class SentDumper(Dumper):
        format = Format.BINARY

        def get_key(self, obj: BinaryArray, format: PyFormat) -> tuple[type, int]:  # type: ignore[override]
            return (BinaryArray, obj.oid)

        def upgrade(self, obj: BinaryArray, format: PyFormat) -> SentDumper:
            dumper = known.get(obj.oid)
            if dumper is None:
                dumper = known[obj.oid] = SentDumper(BinaryArray)
                dumper.oid = obj.oid
            return dumper

        def dump(self, obj: BinaryArray) -> bytes:
            return obj.data

    return SentDumper


@lru_cache(maxsize=4096)
def _element(type_: str) -> int:
    """Return the oid of a staging column's type; 0 when arrays of it can't be sent."""
    oid = _SHORT.get(type_) or plain_oid(type_)
    return oid if oid in BUILTIN and oid not in _VECTORS else 0


def _array(values: pa.Array | pa.ChunkedArray, oid: int) -> bytes:
    head = _HEAD.pack(1, int(values.null_count > 0), oid, len(values), 1)
    if len(values) < FEW and (pack := _WHOLE.get(values.type)):
        length = _LENGTH(np.dtype(FIXED[values.type]).itemsize)
        return head + b"".join(_NULL if one is None else length + pack(one) for one in values.to_pylist())
    if wire := FIXED.get(values.type):
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
        return head + b"".join(_numbers(chunk, wire) for chunk in chunks)
    return head + b"".join(map(_element_of, values.to_pylist()))


def _numbers(values: pa.Array, wire: str) -> bytes:
    """Return numbers in the send format, each after its length; a NULL is a length alone."""
    plain = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
    bits = np.frombuffer(plain.buffers()[1] or b"", wire.replace(">", "<"))[plain.offset : plain.offset + len(plain)]
    found = np.empty(len(plain), [("length", ">i4"), ("value", wire)])
    found["length"], found["value"] = found["value"].itemsize, bits
    if not plain.null_count:
        return found.tobytes()
    valid = plain.is_valid().to_pylist()
    return b"".join(one.tobytes() if is_there else _NULL for one, is_there in zip(found, valid, strict=True))


def _element_of(value: str | bytes | None) -> bytes:
    if value is None:
        return _NULL
    data = value.encode() if isinstance(value, str) else value
    return _LENGTH(len(data)) + data
