"""This module loads one chunk of a table's rows into a file of its shadow, in a task of any process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.catalog.facts import columns_there
from airflow_ddlrepl.engines.duckdb.connection.database import passing, scratch, transaction
from airflow_ddlrepl.engines.duckdb.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb.types.arrow import as_held, field_for
from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.errors import ChunkRefused, FunctionFailed, UnreadableTable
from airflow_ddlrepl.failpoint import reach

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_BATCH = "ddlrepl_batch"


def load(task: LoadTask) -> LoadedChunk:
    """Load one chunk: into a file under another name first, so that a chunk that is loaded twice is there once."""
    import duckdb

    shadow = Shadow.of(task.target_dsn, task.shadow)
    path = shadow.chunk(task.chunk)
    made = path.with_name(f"made_{os.getpid()}_{path.name}")
    try:
        with scratch(made) as connection:
            connection.execute(shadow.create)
            count = _copy(connection, task)
    except (UnreadableTable, FunctionFailed) as error:
        return LoadedChunk(error=error)
    except duckdb.Error as error:
        if (known := passing(error)) is not None:
            raise known.about(table=task.table) from None
        return LoadedChunk(error=_refused(task, error))
    reach("refresh.copied")
    made.replace(path)
    reach("refresh.chunk")
    return LoadedChunk(count)


def _copy(connection: Connection, task: LoadTask) -> int:
    types = columns_there(connection, task.shadow)
    held = [types[name] for name in task.columns]
    schema = pa.schema([field_for(name, of) for name, of in zip(task.rows.columns, held, strict=True)])
    into, count = f"INSERT INTO {qualified(task.shadow)} ({', '.join(map(quote, task.columns))})", 0
    with transaction(connection):
        for batch in task.rows.typed(schema):
            rows, values = as_held(batch, held)
            connection.register(_BATCH, rows)
            connection.execute(f"{into} SELECT {values} FROM {_BATCH}")
            connection.unregister(_BATCH)
            count += rows.num_rows
    return count


def _refused(task: LoadTask, error: Exception) -> ChunkRefused:
    return ChunkRefused(
        f"loading {task.shadow.name} failed: {' '.join(str(error).split())}",
        code="TGT-120",
        table=task.table,
        hint="the target's table is as it was; the next run starts this refresh over. A value that the column's type in"
        " DuckDB can't hold: docs/duckdb.md",
        retryable=True,
    )
