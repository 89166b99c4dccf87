"""This module copies new rows into their table as they are, without a staging table.

They travel to the transaction that merges them in COPY's binary format, with the result of the task that has netted
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge import statements
from airflow_ddlrepl.engines.postgres.merge.inline_rows import FIXED, WRAPPED
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.names import TableName

BATCH_ROWS = 1 << 16
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"

_TAKES_COPIES = """
SELECT NOT pg_catalog.row_security_active(c.oid) AND NOT c.relhasrules AND %(columns)s = (
    SELECT count(*) FROM unnest(%(names)s::text[], %(types)s::text[]) AS ours(name, type)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = ours.name AND NOT a.attisdropped
    WHERE a.atttypid = pg_catalog.to_regtype(ours.type)
)
FROM pg_catalog.pg_class c WHERE c.oid = pg_catalog.to_regclass(%(table)s)
"""


def insert_copied(cursor: Any, one: Staged) -> int:
    """Insert new rows that were not staged, in the cursor's open transaction; return how many the table has taken.

    Where it is not as the rows were written for they go through a table of their own: COPY takes the bytes of a value
    for a value of whatever type a person has given to the column, passes over rules, and is refused by row security.
    Raises RowsRefused INT-105 where that has changed while they were copied.
    """
    if not _takes_copies(cursor, one):
        return _insert_staged(cursor, one)
    found = _copy(cursor, one.target, [column.name for column in one.columns], one.copied)
    if not _takes_copies(cursor, one):  # now no other session can change the table any more
        raise RowsRefused(
            "the table was changed while rows were copied into it",
            code="INT-105",
            table=one.target,
            hint="nothing was merged; run again",
            retryable=True,
        )
    return found


def _takes_copies(cursor: Any, one: Staged) -> bool:
    """Return whether COPY does to the table what INSERT does."""
    names, types = [c.name for c in one.columns], [c.target_type for c in one.columns]
    given = {"columns": len(names), "names": names, "types": types, "table": qualified(one.target)}
    row = cursor.execute(_TAKES_COPIES, given).fetchone()
    return row is not None and bool(row[0])


def _insert_staged(cursor: Any, one: Staged) -> int:
    """Copy rows into a table that is made for them, and insert them from there."""
    table = TableName(SCHEMA, one.tables[Stage.INSERTS])
    plain = tuple(replace(column, in_array=False) for column in one.columns)
    types = {c.staged_name: "numeric" if c.staging_type == WRAPPED else c.staging_type for c in plain}
    body = ", ".join(f"{quote(name)} {type_}" for name, type_ in types.items())
    cursor.execute(f"CREATE UNLOGGED TABLE {qualified(table)} ({body})".encode())
    _copy(cursor, table, list(types), one.copied)
    found = cursor.execute(statements.insert(replace(one, columns=plain)).encode()).rowcount
    cursor.execute(f"DROP TABLE {qualified(table)}".encode())
    return int(found)


def _copy(cursor: Any, table: TableName, columns: Sequence[str], blocks: Sequence[bytes]) -> int:
    names = ", ".join(map(quote, columns))
    with cursor.copy(f"COPY {qualified(table)} ({names}) FROM STDIN (FORMAT binary)".encode()) as copy:
        for block in blocks:
            copy.write(block)
    return int(cursor.rowcount)


def copy_binary(rows: pa.Table) -> tuple[bytes, ...]:
    """Return rows in COPY's binary format, in blocks. Texts and bytes are values in the send format already."""
    return (_HEADER, *_blocks(rows), _END)


def _blocks(rows: pa.Table) -> Iterator[bytes]:
    for batch in rows.combine_chunks().to_batches(BATCH_ROWS):
        count = pa.scalar(len(batch.columns).to_bytes(2, "big"), pa.binary())
        parts = [part for values in batch.columns for part in _parts(values)]
        joined = pc.binary_join_element_wise(count, *parts, b"")
        ends = np.frombuffer(joined.buffers()[1], np.int32)[joined.offset : joined.offset + len(joined) + 1]
        yield joined.buffers()[2][int(ends[0]) : int(ends[-1])].to_pybytes()


def _parts(values: pa.Array) -> list[pa.Array]:
    """Return what a column adds to each row: the length of its value, and the value; for NULL the length -1 alone."""
    if wire := FIXED.get(values.type):
        plain = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        bits = np.frombuffer(plain.buffers()[1], wire.replace(">", "<"))[plain.offset : plain.offset + len(plain)]
        found = np.empty(len(plain), [("length", ">i4"), ("value", wire)])
        found["length"], found["value"] = found["value"].itemsize, bits
        whole = _pieces(found)
        return [pc.if_else(values.is_valid(), whole, pa.scalar(_NULL, pa.binary())) if values.null_count else whole]
    sent = values.cast(pa.binary())
    lengths = pc.fill_null(pc.binary_length(sent), -1).to_numpy(zero_copy_only=False).astype(">i4")
    return [_pieces(lengths), pc.fill_null(sent, b"") if sent.null_count else sent]


def _pieces(values: np.ndarray[Any, Any]) -> pa.Array:
    """Return the bytes of each value."""
    ends = np.arange(len(values) + 1, dtype=np.int32) * values.itemsize
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(values)])
