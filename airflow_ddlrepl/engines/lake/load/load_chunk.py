"""This module loads one chunk of a table's rows into a Parquet file of its shadow, in a task of any process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.load.fitting import FittedRows
from airflow_ddlrepl.engines.lake.load.shadow import Shadow
from airflow_ddlrepl.engines.lake.types.arrow import parquet_schema
from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
from airflow_ddlrepl.errors import ChunkRefused, FunctionFailed, KeyTaken, RowsRefused, UnreadableTable
from airflow_ddlrepl.failpoint import reach

_ROW_GROUP = 200_000
"""So many rows are encoded together; that many are in memory at a time."""


def load(task: LoadTask) -> LoadedChunk:
    """Load one chunk: into a file under another name first, so that a chunk that is loaded twice is there once.

    Raises DiskFull DSK-103 and Unreachable CON-101 where the warehouse takes no files.
    """
    shadow = Shadow.of(task.target_dsn, task.shadow)
    rows = FittedRows(task, shadow.fitting)
    try:
        with file_refusals(task.table):
            with shadow.files.creating(shadow.chunk(task.chunk)) as file:
                count = _copy(rows, shadow, file)
                if rows.discarded:
                    shadow.discard(task.chunk, rows.discarded)
                reach("refresh.copied")
            if task.after:
                _require_unique(shadow, task.after)
    except (UnreadableTable, FunctionFailed) as error:
        return LoadedChunk(error=error)
    except RowsRefused as error:
        return LoadedChunk(error=_refused(task, error))
    reach("refresh.chunk")
    return LoadedChunk(count + len(rows.discarded), "; ".join(rows.warnings))


def finish_shadow(task: FinishTask) -> LoadedChunk:
    """See that no two rows of a shadow have one key by the channel file; its files are as the table has them."""
    try:
        with file_refusals(task.table):
            if task.statements:
                _require_unique(Shadow.of(task.target_dsn, task.shadow), task.statements)
    except RowsRefused as error:
        return LoadedChunk(error=_refused(task, error))
    return LoadedChunk()


def _copy(rows: FittedRows, shadow: Shadow, into: IO[bytes]) -> int:
    """Write the rows as the lake holds them; return how many."""
    names = rows.written
    written = parquet_schema({name: rows.types[name] for name in names}, shadow.ids)
    count = 0
    with pq.ParquetWriter(into, written, compression="zstd", store_schema=False) as writer:
        for values in rows.batches():
            batch = pa.RecordBatch.from_arrays([values[name] for name in names], schema=written)
            writer.write_batch(batch, row_group_size=_ROW_GROUP)
            count += batch.num_rows
    return count


def _require_unique(shadow: Shadow, key: Sequence[str]) -> None:
    """Raise RowsRefused INT-102 where two rows of a shadow have one key by the channel file."""
    parts = []
    for chunk in shadow.chunks:
        with shadow.files.open(chunk) as file:
            parts.append(pq.read_table(file, columns=[*key]))
    seen = pa.concat_tables(parts)
    counts = seen.group_by([*key]).aggregate([([], "count_all")])
    if twice := counts.filter(pc.greater(counts["count_all"], 1)).slice(0, 1).to_pylist():
        values = ", ".join(str(twice[0][name]) for name in key)
        raise KeyTaken(
            f"Key ({', '.join(key)})=({values}) is duplicated",
            code="INT-102",
            hint="correct the rows at the source, or name other columns in `key` of `target_tables`",
        )


def _refused(task: LoadTask | FinishTask, error: RowsRefused) -> ChunkRefused:
    return ChunkRefused(
        f"loading {task.shadow.name} failed: {error.message}",
        code="TGT-120",
        table=task.table,
        hint=f"the target's table is as it was; the next run starts this refresh over. {error.hint}",
        retryable=True,
    )
