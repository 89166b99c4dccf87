"""This module keeps rows that are ready until they are merged into a DuckDB file, in a task of any process.

A few rows travel back to the driver as they are; many wait in a file beside the database. Nothing is opened there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.duckdb.connection.database import staging_folder
from airflow_ddlrepl.engines.duckdb.merge.refusals import refusals
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.arrow import each_held
from airflow_ddlrepl.engines.duckdb_sql.evaluator import DuckEvaluator
from airflow_ddlrepl.engines.duckdb_sql.read_texts import cut, required, values_of
from airflow_ddlrepl.engines.staging import Stager
from airflow_ddlrepl.integrate.netting.net_changes import NetRows
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.change_values import Converted
from airflow_ddlrepl.ports.row_evaluator import LoggedRows

MOST_INLINE = 1 << 20
"""So many bytes of a task's rows travel without a file."""


@dataclass(frozen=True)
class Staged:
    """Staged rows are what one task's changes come to. key: ids of its columns; none of a table without one.

    rows: by kind, as an Arrow stream of bytes, or the path of a file with it, in types that DuckDB takes as they are.
    Columns are named by the column's id: a value as `a1`, one before the change as `b1`, and as `h1` whether there is a
    value. counts: by kind. read: how many changes that was. left_out: what the target does not take of them.
    is_resilient: rows may be there already, or missing. deletion: the column that is true for deleted rows, which stay;
    empty: they don't.
    """

    key: tuple[int, ...] = ()
    rows: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    counts: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    is_resilient: bool = False
    deletion: str = ""

    def table(self, kind: str) -> pa.Table:
        """Return the rows of one kind."""
        found = self.rows[kind]
        source = pa.memory_map(str(found)) if isinstance(found, Path) else pa.py_buffer(found)
        return pa.ipc.open_stream(source).read_all()


class DuckStager(Stager):
    """This stager has no session at the database: only the driver opens it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def evaluator(self, task: StageTask) -> DuckEvaluator:
        return DuckEvaluator(task.values, physical)

    def store(self, ready: ReadyRows) -> Staged:
        """Keep the rows as bytes, or write them to files where they are many."""
        ids = {column.name: column.id for column in ready.plan.columns}
        by_key = () if ready.plan.is_history else ready.plan.key
        key = tuple(ids[one.name] for one in by_key if one.name in ids)
        with refusals(ready.task.target_name, ready.task.dsn):
            tables = {kind: _typed(table, ready) for kind, table in _by_kind(ready.rows).items() if table.num_rows}
            stored = _stored(ready.task, tables)
        counts = {kind: table.num_rows for kind, table in tables.items()}
        is_resilient, deletion = ready.task.is_resilient, ready.plan.deletion
        return Staged(key, stored, counts, ready.read, ready.left_out, is_resilient, deletion)


def _by_kind(rows: NetRows) -> dict[str, pa.Table]:
    return {
        "deletes": rows.deletes,
        "moves": rows.moves,
        "updates": rows.updates,
        "inserts": rows.inserts,
        "images": _images(rows),
    }


def _images(rows: NetRows) -> pa.Table:
    """Return whole rows that come, and those that go with a negative number of copies."""
    gone = rows.removed
    if not gone.num_rows:
        return rows.added
    gone = gone.set_column(gone.num_columns - 1, "copies", pc.negate(gone["copies"]))
    return pa.concat_tables([gone, rows.added]) if rows.added.num_rows else gone


def _typed(rows: pa.Table, ready: ReadyRows) -> pa.Table:
    """Return the rows under the ids of their columns, as DuckDB holds their values."""
    columns, found = {column.name: column for column in ready.plan.columns}, {}
    for name, values in zip(rows.column_names, rows.columns, strict=True):
        if name == "copies":
            found[name] = values
            continue
        side, column = name[0], columns[name[2:]]
        found[f"{side}{column.id}"] = values if side == "h" else _column(values, column, ready.task)
    return pa.table(found)


def _column(values: pa.ChunkedArray, column: RowColumn, task: StageTask) -> pa.ChunkedArray:
    """Return values of one column as the target's column holds them; those of changes are Arrow's already."""
    of_source, types = column.source, task.table.types
    if of_source is None:
        cast = {"value": physical(column.target.type)}
        return pa.chunked_array(
            values_of({"value": values}, cast, lambda sql, _: f"CAST({sql} AS {cast['value']})").values()
        )
    if (column.is_by_text or column.is_cut) and len(values):
        return _read(values, column, of_source, task)

    def convert(chunk: pa.Array, wanted: pa.Field) -> Converted:
        return task.values.converted(chunk, column.encoding, of_source, wanted, types)

    return each_held(values, physical(column.target.type, task.target.types), convert)


def _read(values: pa.ChunkedArray, column: RowColumn, of_source: Column, task: StageTask) -> pa.ChunkedArray:
    """Return values of a column that reads the texts which the source's type writes."""
    rows = LoggedRows(pa.table({of_source.name: values}), task.table, {of_source.name: column.encoding})
    texts = DuckEvaluator(task.values, physical).as_text(rows)[of_source.name]
    held = physical(column.target.type, task.target.types)

    def value(text: str, name: str) -> str:
        return required(cut(text, column.target) if column.is_cut else text, column.target, held)

    return pa.chunked_array([values_of({"value": texts}, {"value": held}, value)["value"]])


def _stored(task: StageTask, tables: Mapping[str, pa.Table]) -> dict[str, bytes | Path]:
    """Return the rows as bytes, or write them to files where they are many."""
    is_small = sum(table.nbytes for table in tables.values()) <= MOST_INLINE
    found: dict[str, bytes | Path] = {}
    for kind, table in tables.items():
        if is_small:
            sink = pa.BufferOutputStream()
            _write(sink, table)
            found[kind] = sink.getvalue().to_pybytes()
        else:
            folder = staging_folder(task.dsn)
            folder.mkdir(exist_ok=True)
            path = folder / f"{task.stage_name}_{kind}.arrow"
            with pa.OSFile(str(path), "wb") as file:
                _write(file, table)
            found[kind] = path
    return found


def _write(sink: pa.NativeFile, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
