"""This module reads the rows that are compared, of the source and of the lake, as values of the lake's types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.changed_keys import key_pairs
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type, field_for
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.model.table import Column

Pairs = Sequence[tuple[Column, Column]]
"""Columns of the source, each with the target's."""
_NEEDS_QUOTES = re.compile(r'[(),"\\\s]|^$')


def pairs_of(task: CompareTask) -> list[tuple[Column, Column]]:
    """Return the columns that are compared."""
    there = {column.id: column for column in task.shape.columns}
    names = columns_compared(task.source, task.shape)
    columns = [(one, there[one.id]) for one in map(task.source.named, names)]
    return [pair for pair in columns if pair[0].id not in task.uncompared]


def held_type(task: CompareTask, column: Column) -> str:
    """Return Spark's name of the type that a column of the target's is held as."""
    return physical(column.type, task.shape.types)


def key_names(task: CompareTask) -> list[str]:
    """Return the target's names of the columns of the key; nothing where rows are not told apart by one."""
    key = set(task.source.key.columns if task.source.key else ())
    pairs = key_pairs(task) if key else []
    return [ours.name for _, ours in pairs] if {theirs.id for theirs, _ in pairs} == key else []


def source_rows(task: CompareTask, pairs: Pairs) -> Iterator[pa.Table]:
    """Yield the source's rows under the target's names; a value that its type can't hold is NULL."""
    names = columns_compared(task.source, task.shape)
    there = {column.id: column for column in task.shape.columns}
    schema = pa.schema([field_for(name, held_type(task, there[task.source.named(name).id])) for name in names])
    for rows, _ in task.contents.typed(schema):
        columns = [rows.column(names.index(theirs.name)) for theirs, _ in pairs]
        yield _counted(columns, pairs, rows.num_rows, 1)


def target_rows(task: CompareTask, pairs: Pairs, metadata: str) -> Iterator[pa.Table]:
    """Yield the rows of the lake's table. metadata: the path of its metadata file."""
    from pyiceberg.table import StaticTable

    names, files = [ours.name for _, ours in pairs], location_of(task.target_dsn).files
    types = [arrow_type(held_type(task, ours)) for _, ours in pairs]
    scan = StaticTable.from_metadata(metadata, files.properties).scan(selected_fields=tuple(names) or ("*",))
    for batch in scan.to_arrow_batch_reader():
        columns = [batch.column(name).cast(of) for name, of in zip(names, types, strict=True)]
        yield _counted(columns, pairs, batch.num_rows, -1)


def _counted(columns: Sequence[pa.Array], pairs: Pairs, count: int, side: int) -> pa.Table:
    """Return rows with how often each counts: 1 for a row of the source, -1 for one of the lake."""
    names = [ours.name for _, ours in pairs]
    return pa.table([*columns, pa.array([side] * count, pa.int64())], [*names, COUNT])


COUNT = "\0count"
"""The column with how often a row counts: no column of a source has such a name."""


def key_texts(columns: Sequence[pa.ChunkedArray | pa.Array]) -> list[str]:
    """Return the text of each key, which no other key has. columns: its values."""
    texts = [map(_part, _as_texts(one)) for one in columns]
    return [f"({','.join(parts)})" for parts in zip(*texts, strict=True)]


def _as_texts(values: pa.ChunkedArray | pa.Array) -> list[str | None]:
    if pa.types.is_binary(values.type):
        return [None if one is None else f"\\x{one.hex()}" for one in values.to_pylist()]
    if pa.types.is_timestamp(values.type):  # as one with a zone Arrow writes late moments as others
        values = values.cast(pa.timestamp("us"))
    if pa.types.is_floating(values.type):  # -0 is the key that 0 is
        values = pc.if_else(pc.equal(values, 0), pa.scalar(0, values.type), values)
    found: list[str | None] = values.cast(pa.string()).to_pylist()
    return found


def _part(text: str | None) -> str:
    if text is None:
        return ""
    if not _NEEDS_QUOTES.search(text):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '""')
    return f'"{quoted}"'
