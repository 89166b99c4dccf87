"""This module archives the rows of tables in the trail.

They are copied out of the source by COPY, under an exported snapshot, into files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.adapt.shape.target_shape import valued
from airflow_ddlrepl.engines.chunks import chunk_bytes, group_chunks
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows, sharing_sessions
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import binary_safe
from airflow_ddlrepl.engines.source_catalog import Archived, ArchivePlace, RowSelection
from airflow_ddlrepl.errors import SourceError, UnreadableTable
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.loads import ChunkWriter, LoadedTable
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail

Chunks = Callable[[RowSelection, int], Sequence[TableRows]]
"""This function splits the selected rows of a table, as a snapshot shows them, into chunks of at most so many bytes."""


@dataclass(frozen=True, slots=True)
class ArchiveTask:
    """An archive task archives one chunk of a table; it is picklable, and its text never shows the location.

    stem: how the paths of its files begin.
    """

    rows: TableRows
    trail_url: str = field(repr=False)
    channel: str
    stem: str


Part = tuple[int, tuple[Blob, ...]]
"""How many rows an archived chunk has, and its files."""


def archive_chunks(tasks: Sequence[ArchiveTask]) -> list[Part | UnreadableTable]:
    """Archive the chunks of these tasks; return for each what was written, durably, or why it can't be read.

    All are of one snapshot. Raises SourceError SRC-170 when the source is gone, TrailError, DiskFull.
    """
    trail = Trail(tasks[0].trail_url, tasks[0].channel)
    with sharing_sessions():
        return [_archived(trail, task) for task in tasks]


def _archived(trail: Trail, task: ArchiveTask) -> Part | UnreadableTable:
    try:
        with ChunkWriter(trail.place, task.stem) as writer:
            rows = writer.write_all(task.rows.copied(binary=task.rows.is_binary))
            return rows, writer.close()
    except UnreadableTable as error:
        return error


def archive(
    chunks: Chunks, sizes: Mapping[int, int], tables: Sequence[Table], place: ArchivePlace, runner: Runner
) -> Archived:
    """Write the rows of these tables into the trail. Partitioned tables have no rows.

    chunks, sizes: of the snapshot that shows the rows. A table that can't be read does not stop the others.
    """
    refused: dict[int, UnreadableTable] = {}
    archived = {t.id: sizes[t.id] for t in tables if not t.is_partitioned}
    most = chunk_bytes(archived.values(), runner.parallelism)
    tasks: list[tuple[int, ArchiveTask]] = []
    for table in (table for table in tables if table.id in archived):
        try:
            found = chunks(RowSelection(table, _columns(table)), most)
        except UnreadableTable as error:
            refused[table.id] = error
            continue
        stem = f"{place.folder}/{table.id}"
        tasks += [
            (table.id, ArchiveTask(rows, place.trail_url, place.channel, f"{stem}-{number}"))
            for number, rows in enumerate(found)
        ]
    tasks.sort(key=lambda task: -task[1].rows.size)
    groups = group_chunks([task.rows.size for _, task in tasks], runner.parallelism)
    work = [tuple(tasks[at][1] for at in group) for group in groups]
    results = runner.map(archive_chunks, work, "archive the rows", size=sum(archived.values()))
    done: dict[int, list[Part]] = {table.id: [] for table in tables}
    for group, parts in zip(groups, results, strict=True):
        for at, one in zip(group, parts, strict=True):
            if isinstance(one, UnreadableTable):
                refused.setdefault(tasks[at][0], one)
            else:
                done[tasks[at][0]].append(one)
    return Archived(tuple(_loaded(table, done[table.id]) for table in tables if table.id not in refused), refused)


def _columns(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in valued(table))


def _loaded(table: Table, parts: Sequence[Part]) -> LoadedTable:
    names = _columns(table)
    return LoadedTable(table, names, binary_safe(table), tuple(files for _, files in parts), sum(n for n, _ in parts))


def require_labels(connection: Connection[Any], tables: Sequence[Table]) -> None:
    """Raise SourceError SRC-172 unless the labels of all enums are still as in these shapes.

    A COPY writes their names of that moment, whatever its snapshot shows.
    """
    now = {of.id: of for table in inspect(connection, [t.id for t in tables]) for of in table.types}
    for table in tables:
        for of in table.types:
            if now.get(of.id, of).labels != of.labels:
                raise SourceError(
                    f"the labels of {of.schema}.{of.name} were changed while its rows were archived",
                    code="SRC-172",
                    table=table.name,
                    hint="none of its rows were archived; the next run archives them again",
                    retryable=True,
                )
