"""Load chunks of rows into a shadow table of files; compare a table of files with its source's."""

from __future__ import annotations

import json
from collections import Counter

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared
from airflow_ddlrepl.engines.loading import LoadedChunk, LoadTask
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.table import Column, Table
from tests.conformance.file_engine.files import Files, Row, replace_file
from tests.conformance.file_engine.target import folder


def load(task: LoadTask) -> LoadedChunk:
    """A chunk is one file: loaded twice, it is there once."""
    at = folder(task.target_dsn) / "shadows" / task.shadow.name
    shape = Table.from_json(json.loads((at / "shape").read_text())["shape"])
    ids = [str(shape.named(name).id) for name in task.columns]
    nothing: Row = {str(column.id): _default(column) for column in shape.columns}
    rows = [
        {**nothing, **dict(zip(ids, values, strict=True))}
        for batch in task.rows.batches()
        for values in zip(*batch.to_pydict().values(), strict=True)
    ]
    reach("refresh.copied")
    replace_file(at / f"chunk_{task.chunk.replace('/', '_')}", rows)
    reach("refresh.chunk")
    return LoadedChunk(len(rows))


def _default(column: Column) -> str | None:
    """The value of a column that only the target has: its default is a constant."""
    if not column.extra or column.default is None:
        return None
    return column.missing if column.missing is not None else column.default.strip("'")


def compare(task: CompareTask) -> TableReport:
    """Whole rows, as texts, with their copies."""
    table = Files(folder(task.target_dsn), "").read(task.target)
    there = {column.id: column for column in task.shape.columns}
    columns = [task.source.named(name) for name in columns_compared(task.source, task.shape)]
    structure = [f"column {column.name} is missing" for column in task.source.columns if column.id not in there]
    batches = task.contents.batches()
    theirs = Counter(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True))
    ours = Counter(tuple(row[str(c.id)] for c in columns) for row in table.rows) if table else Counter()
    missing, extra = theirs - ours, ours - theirs
    kinds = ((Kind.MISSING, missing), (Kind.EXTRA, extra))
    return TableReport(
        task.source.name,
        task.target,
        columns=len(columns),
        source_rows=theirs.total(),
        target_rows=ours.total(),
        structure=tuple(structure),
        missing=missing.total(),
        extra=extra.total(),
        rows=tuple(RowDifference(kind, str(row)) for kind, found in kinds for row in list(found)[: task.limit]),
    )
