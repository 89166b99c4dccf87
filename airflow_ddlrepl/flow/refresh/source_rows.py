"""Every refresh that is no rewind reads its rows from the source, under one snapshot of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_ddlrepl.engines.chunks import chunk_bytes
from airflow_ddlrepl.engines.differing import Differing, DifferingTask, find_differing, load_mark
from airflow_ddlrepl.engines.source_catalog import ReadableTables, RowSelection, SourceSnapshot
from airflow_ddlrepl.flow.mapping.abilities import require_able
from airflow_ddlrepl.flow.mapping.row_filters import require_restrictable
from airflow_ddlrepl.flow.mapping.target_tables import require_old_rows
from airflow_ddlrepl.flow.mapping.value_functions import require_transformable
from airflow_ddlrepl.flow.refresh.row_origin import Chunk, RowOrigin, ShapesAtTarget, TableLoad
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.rows import RowSource

SMALLEST_MARKED = 8 << 20
"""Of a smaller table, in bytes, all rows are hashed in no more time than its mark takes."""


@dataclass
class SourceRows(RowOrigin):
    """These are the rows of the source's tables as a snapshot shows them.

    shapes: of the tables at the target. opened: when the snapshot was open already, by the monotonic clock.
    """

    source: SourceSnapshot
    shapes: ShapesAtTarget
    opened: float = field(default_factory=time.monotonic, init=False)

    @property
    def tables(self) -> Sequence[Table]:
        return self.shapes.tables

    @property
    def sizes(self) -> Mapping[int, int]:
        return self.source.sizes

    @property
    def empty(self) -> Collection[int]:
        return self.source.empty

    def load_of(self, table: Table) -> TableLoad:
        context, into = self.shapes.context, self.shapes.into
        at = context.channel.at(into)
        require_able(at, [table], context.target(into))
        require_restrictable(at, [table], context.target(into).check_condition)
        require_transformable(at, [table])
        require_old_rows(at, [table])
        load = self.shapes.load_of(table)
        columns = tuple(theirs.name for theirs, _ in load.columns)
        self.source.require_readable(RowSelection(table, columns, load.condition))
        return load

    def differing(self, load: TableLoad) -> Differing | None:
        selection = RowSelection(load.table, tuple(theirs.name for theirs, _ in load.columns))
        return find_differing(self._task(load, self.source.whole(selection)))

    def mark(self, load: TableLoad) -> str:
        if self.source.sizes[load.table.id] < SMALLEST_MARKED:
            return ""
        selection = RowSelection(load.table, tuple(theirs.name for theirs, _ in load.columns))
        (whole,) = self.source.chunks(selection, sys.maxsize)
        return load_mark(self._task(load, whole))

    def _task(self, load: TableLoad, whole: RowSource) -> DifferingTask:
        context, table = self.shapes.context, load.table
        (pair,) = (pair for pair in load.columns if table.key is not None and pair[0].id in table.key.columns)
        most = chunk_bytes([self.source.sizes[table.id]], context.runner.parallelism)
        target, channel = context.target(self.shapes.into).location, context.channel.holder(self.shapes.into)
        places = (whole, target, load.after.name, load.columns, pair, most)
        return DifferingTask(*places, channel, table.id, self.opened)

    @contextmanager
    def chunks(self, loads: Sequence[TableLoad]) -> Iterator[Sequence[Chunk]]:
        tables = [(load, load.table) for load in loads]
        yield chunks_of(self.source, tables, self.shapes.context.runner.parallelism)


def chunks_of(source: ReadableTables, loads: Sequence[tuple[TableLoad, Table]], parallelism: int) -> list[Chunk]:
    """Return the rows that are loaded, the largest chunk first. loads: each with the table of the snapshot."""
    most = chunk_bytes([source.sizes[table.id] for _, table in loads], parallelism)
    found = list[Chunk]()
    for load, table in loads:
        columns = tuple(theirs.name for theirs, _ in load.columns)
        selection = RowSelection(table, columns, load.condition, load.transform)
        found += [Chunk(load, rows, load.columns) for rows in source.chunks(selection, most)]
    return sorted(found, key=lambda chunk: -chunk.rows.size)
