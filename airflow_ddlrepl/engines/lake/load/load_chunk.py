"""This module loads one chunk of a table's rows into a Parquet file of its shadow, in a task of any process."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.load.shadow import Shadow
from airflow_ddlrepl.engines.lake.merge.refusals import file_refusals
from airflow_ddlrepl.engines.lake.types.arrow import as_held, field_for, parquet_schema
from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
from airflow_ddlrepl.errors import ChunkRefused, FunctionFailed, RowsRefused, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.ports.change_values import Converted

_ROW_GROUP = 200_000
"""So many rows are encoded together; that many are in memory at a time."""


def load(task: LoadTask) -> LoadedChunk:
    """Load one chunk: into a file under another name first, so that a chunk that is loaded twice is there once.

    Raises DiskFull DSK-103 and Unreachable CON-101 where the warehouse takes no files.
    """
    shadow = Shadow.of(task.target_dsn, task.shadow)
    path = shadow.chunk(task.chunk)
    made = path.with_name(f"made_{os.getpid()}_{path.name}")
    try:
        with file_refusals(task.table):
            count = _copy(task, shadow, made)
            reach("refresh.copied")
            made.replace(path)
    except (UnreadableTable, FunctionFailed) as error:
        return LoadedChunk(error=error)
    except RowsRefused as error:
        return LoadedChunk(error=_refused(task, error))
    reach("refresh.chunk")
    return LoadedChunk(count)


def finish_shadow(task: FinishTask) -> LoadedChunk:
    """Do nothing more with a loaded shadow table: its files are as the table has them."""
    assert not task.statements, "a lake's loader has no statements for shadows"
    return LoadedChunk()


def _copy(task: LoadTask, shadow: Shadow, into: Path) -> int:
    """Write the rows as the lake holds them; return how many."""
    types = shadow.types
    held = [types[name] for name in task.columns]
    read = pa.schema([field_for(name, of) for name, of in zip(task.read, held, strict=True)])
    written = parquet_schema(dict(zip(task.columns, held, strict=True)), shadow.ids)
    count = 0
    with pq.ParquetWriter(str(into), written, compression="zstd", store_schema=False) as writer:
        for rows, unfit in task.rows.typed(read):
            pairs = zip(rows.columns, map(unfit.get, read.names), held, task.columns, strict=True)
            values = [as_held(Converted(found, texts), of, name) for found, texts, of, name in pairs]
            writer.write_batch(pa.RecordBatch.from_arrays(values, schema=written), row_group_size=_ROW_GROUP)
            count += rows.num_rows
    return count


def _refused(task: LoadTask, error: RowsRefused) -> ChunkRefused:
    return ChunkRefused(
        f"loading {task.shadow.name} failed: {error.message}",
        code="TGT-120",
        table=task.table,
        hint=f"the target's table is as it was; the next run starts this refresh over. {error.hint}",
        retryable=True,
    )
