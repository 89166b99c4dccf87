"""This module loads one chunk of a table's rows into a file of its shadow, in a task of any process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.duckdb.connection.database import passing, scratch
from airflow_ddlrepl.engines.duckdb.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb.types.physical import from_text
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
    types = dict(
        connection.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ?", [task.shadow.schema]
        ).fetchall()
    )
    names, count = ", ".join(map(quote, task.columns)), 0
    values = ", ".join(from_text(f"v{place}", types[name]) for place, name in enumerate(task.columns))
    for batch in task.rows.batches():
        connection.register(_BATCH, batch.rename_columns([f"v{place}" for place in range(len(task.columns))]))
        connection.execute(f"INSERT INTO {qualified(task.shadow)} ({names}) SELECT {values} FROM {_BATCH}")
        connection.unregister(_BATCH)
        count += batch.num_rows
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
