"""This module reads one partition of a change feed as Arrow batches; it needs the trail and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.change_feed.feed import FeedPartition, Slice
from airflow_ddlrepl.flow.change_feed.merged_columns import FeedColumn
from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.ports.change_values import ChangeValues, NotShown
from airflow_ddlrepl.ports.row_layout import ColumnLayout
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail

BATCH_ROWS = 1 << 14
OPERATIONS = pa.array(["delete", "insert", "update"])  # by the number of Op
BEFORE = pa.array(["none", "key", "row"])
FACTS = ("lsn", "seq", "op", "before", "absent")
"""These columns of a row file say what a change is; the others have its values."""


def read(partition: FeedPartition) -> Iterator[pa.RecordBatch]:
    """Yield the changes of a partition in batches of the feed's schema, each file's in log order.

    Raises TrailError TRL-125 where a value can't be shown, and the trail's errors.
    """
    trail = Trail(partition.trail, partition.channel)
    values = of_sources(f"{partition.scheme}://").values
    commits: dict[Blob | None, tuple[Any, Any, Any]] = {}
    for one in partition.slices:
        _require_columns(partition, one)
        if one.transactions not in commits:
            commits = {one.transactions: _commits(trail, one.transactions)}
        for batch in trail.batches(one.file, one.low, one.high, FACTS, _value_columns(partition, one)):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                rows = batch.slice(start, BATCH_ROWS)
                yield _batch(partition, one, rows, commits[one.transactions], values)
    if partition.truncates:
        yield _truncates(partition)


def _require_columns(partition: FeedPartition, one: Slice) -> None:
    """Raise TrailError TRL-125 where the log has a column that the revision does not have: its values would be lost."""
    shape = partition.shapes[one.revision]
    if unknown := {c.name for c in one.file.columns} - {c.name for c in shape.columns}:
        raise TrailError(
            f"the log has a column {min(unknown)} that revision {one.revision} does not have",
            code="TRL-125",
            table=shape.name,
            at=Position(one.low.lsn),
            hint="the statements in between were not captured: read what is before and after by `start` and `end`",
        )


def _value_columns(partition: FeedPartition, one: Slice) -> list[str]:
    """Return the columns with the values that the feed shows, as they are called in the file, if it has them."""
    shown = {column.id for column in partition.columns}
    names = [column.name for column in partition.shapes[one.revision].columns if column.id in shown]
    return [f"{side}_{name}" for side in "ab" for name in names]


def _commits(trail: Trail, blob: Blob | None) -> tuple[Any, Any, Any]:
    """Return commit positions, transaction ids and commit times of a part's transactions, in commit order."""
    names = ("lsn", TRANSACTION_ID, "committed")
    found = trail.transactions_in([blob] if blob else [], names)
    return tuple(found[name].to_numpy() for name in names)  # type: ignore[return-value]


def _batch(
    partition: FeedPartition, one: Slice, rows: pa.Table, commits: tuple[Any, Any, Any], values: ChangeValues
) -> pa.RecordBatch:
    lsn, op = rows["lsn"].combine_chunks(), rows["op"].combine_chunks()
    positions = lsn.to_numpy()
    starts = np.flatnonzero(np.concatenate(([True], positions[1:] != positions[:-1])))  # of each transaction
    counts = np.diff(np.append(starts, len(positions)))
    at = np.searchsorted(commits[0], positions[starts])
    if not np.array_equal(np.take(commits[0], at, mode="clip"), positions[starts]):
        raise TrailError(
            f"the trail has changes of {one.file.path} without their transactions",
            code="TRL-125",
            at=Position(one.low.lsn),
            hint="a file was replaced by hand: restore it",
        )
    layout = [c.name for c in one.file.columns]
    absent = absent_columns(rows["absent"], layout)
    columns: list[pa.Array] = [
        OPERATIONS.take(op),
        lsn,
        rows["seq"].combine_chunks(),
        pa.array(np.repeat(commits[2][at], counts)).cast(pa.timestamp("us", "UTC")),
        pa.array(np.repeat(commits[1][at], counts)),
        _repeated(one.revision, pa.int32()).slice(0, len(rows)),
        _before(rows["before"].combine_chunks()),
        _absent_names(partition, one, op, absent),
    ]
    for side in "ab":
        columns += [_values(partition, one, rows, side, column, values) for column in partition.columns]
    return pa.RecordBatch.from_arrays(columns, schema=partition.schema)


def _values(
    partition: FeedPartition, one: Slice, rows: pa.Table, side: str, column: FeedColumn, values: ChangeValues
) -> pa.Array:
    """Return a column's values after (side a) or before (b) the changes; NULL where the log has none."""
    shape = partition.shapes[one.revision]
    source = next((c for c in shape.columns if c.id == column.id), None)
    logged = _logged(one, source.name) if source else None
    if source is None or logged is None or f"{side}_{source.name}" not in rows.column_names:
        return _nulls(len(rows), column.type)
    try:
        raw = rows[f"{side}_{source.name}"].combine_chunks()
        return values.shown(raw, logged.encoding, source, column.type, shape.types)
    except NotShown as error:
        raise TrailError(
            f"column {column.name} {error}",
            code="TRL-125",
            table=shape.name,
            at=Position(rows["lsn"][0].as_py()),
            hint="leave the column out by `columns`",
        ) from None


@lru_cache(maxsize=64)
def _repeated(value: int | str | None, of: pa.DataType) -> pa.Array:
    """Return one value for every row of the largest batch: most changes have nothing of the row before."""
    return pa.repeat(pa.scalar(value, of), BATCH_ROWS)


def _nulls(count: int, of: pa.DataType) -> pa.Array:
    return _repeated(None, of).slice(0, count)


def _before(kinds: pa.Array) -> pa.Array:
    if pc.max(kinds).as_py() == 0:
        return _repeated(BEFORE[0].as_py(), BEFORE.type).slice(0, len(kinds))
    return BEFORE.take(kinds)


def _logged(one: Slice, name: str) -> ColumnLayout | None:
    return next((c for c in one.file.columns if c.name == name), None)


def _absent_names(partition: FeedPartition, one: Slice, op: pa.Array, absent: dict[str, Any]) -> pa.Array:
    """Return for each change the columns whose value after it the log does not have, though the row has one."""
    shape = partition.shapes[one.revision]
    sources = {c.id: c.name for c in shape.columns}
    flags: dict[str, Any] = {}
    has_row = op.to_numpy() != Op.DELETE
    for column in partition.columns:
        source = sources.get(column.id)
        if source is not None and _logged(one, source) is None:
            flags[column.name] = has_row
        elif source in absent:
            flags[column.name] = absent[source]
    if not flags:
        return _nulls(len(op), pa.list_(pa.string()))
    bits = np.packbits(np.stack(list(flags.values()), axis=1), axis=1)
    kinds = pa.Array.from_buffers(pa.binary(bits.shape[1]), len(bits), [None, pa.py_buffer(bits)]).dictionary_encode()
    found = [np.unpackbits(np.frombuffer(kind, np.uint8)).tolist() for kind in kinds.dictionary.to_pylist()]
    names = [[name for name, flag in zip(flags, kind, strict=False) if flag] or None for kind in found]
    return pa.array(names, pa.list_(pa.string())).take(kinds.indices)


def _truncates(partition: FeedPartition) -> pa.RecordBatch:
    found, schema = partition.truncates, partition.schema
    facts = [
        ["truncate"] * len(found),
        [t.key.lsn for t in found],
        [t.key.seq for t in found],
        [t.committed for t in found],
        [t.transaction_id for t in found],
        [t.revision for t in found],
        ["none"] * len(found),
    ]
    columns = [pa.array(values, field.type) for values, field in zip(facts, schema, strict=False)]
    columns += [pa.nulls(len(found), field.type) for field in list(schema)[len(facts) :]]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
