"""This module loads one chunk of a table's rows into a file of its shadow, in a task of any process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import passing
from airflow_ddlrepl.engines.duckdb.load.finish import finish
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb_sql.arrow import as_held, field_for
from airflow_ddlrepl.engines.duckdb_sql.read_texts import required, values_of
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
from airflow_ddlrepl.errors import ChunkRefused, FunctionFailed, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.ports.change_values import Converted


def load(task: LoadTask) -> LoadedChunk:
    """Load one chunk: into a file under another name first, so that a chunk that is loaded twice is there once."""
    import duckdb

    shadow = Shadow.of(task.target_dsn, task.shadow)
    path = shadow.chunk(task.chunk)
    made = path.with_name(f"made_{os.getpid()}_{path.name}")
    try:
        types = shadow.types
        count = _copy(task, [types[name] for name in task.columns], made)
    except (UnreadableTable, FunctionFailed) as error:
        return LoadedChunk(error=error)
    except (duckdb.Error, OSError) as error:
        if (known := passing(error, task.target_dsn)) is not None:
            raise known.about(table=task.table) from None
        return LoadedChunk(error=_refused(task, error))
    reach("refresh.copied")
    made.replace(path)
    reach("refresh.chunk")
    return _finished(task, task.after, LoadedChunk(count)) if task.after else LoadedChunk(count)


def finish_shadow(task: FinishTask) -> LoadedChunk:
    """Do with the rows of a shadow what they still need."""
    return _finished(task, task.statements, LoadedChunk()) if task.statements else LoadedChunk()


def _finished(task: LoadTask | FinishTask, statements: Sequence[str], done: LoadedChunk) -> LoadedChunk:
    import duckdb

    try:
        told = finish(Shadow.of(task.target_dsn, task.shadow), task.shadow, statements)
    except (duckdb.Error, OSError) as error:
        if (known := passing(error, task.target_dsn)) is not None:
            raise known.about(table=task.table) from None
        return LoadedChunk(error=_refused(task, error))
    return replace(done, warning="; ".join(filter(None, (done.warning, *told))))


def _copy(task: LoadTask, duckdb_types: list[str], into: Path) -> int:
    """Write the rows as DuckDB holds them. duckdb_types: of the columns there."""
    by_text = {column.name: column for column in task.by_text}
    held = dict(zip(task.columns, duckdb_types, strict=True))
    given = [TEXT if name in by_text else of for name, of in held.items()]
    schema = pa.schema([field_for(name, of) for name, of in zip(task.read, given, strict=True)])
    renamed, count = pa.schema([field_for(*one) for one in held.items()]), 0
    with pa.OSFile(str(into), "wb") as file, pa.ipc.new_stream(file, renamed) as writer:
        for rows, unfit in task.rows.typed(schema):
            if not rows.num_rows:
                continue
            pairs = zip(rows.columns, map(unfit.get, schema.names), strict=True)
            values = [as_held(Converted(*pair), of) for pair, of in zip(pairs, given, strict=True)]
            if by_text:
                found = dict(zip(held, values, strict=True))
                texts = {name: found[name] for name in by_text}
                found |= values_of(texts, held, lambda text, name: required(text, by_text[name], held[name]))
                values = [*found.values()]
            writer.write_batch(pa.RecordBatch.from_arrays(values, schema=renamed))
            count += rows.num_rows
    return count


def _refused(task: LoadTask | FinishTask, error: Exception) -> ChunkRefused:
    return ChunkRefused(
        f"loading {task.shadow.name} failed: {' '.join(str(error).split())}",
        code="TGT-120",
        table=task.table,
        hint="the target's table is as it was; the next run starts this refresh over. A value that the column's type in"
        " DuckDB can't hold: docs/duckdb.md",
        retryable=True,
    )
