"""Archive the rows of tables in the trail: COPY out of the source under an exported snapshot, into files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.shape.target_shape import valued
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import blocks_of, copy_out, open_snapshot, reading
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import binary_safe
from airflow_ddlrepl.engines.source import ArchivePlace, SourceSnapshot
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.refresh.chunks import PAGE_BYTES, Chunk, cut_chunks, group_chunks, pages_of
from airflow_ddlrepl.trail.loads import ChunkWriter, LoadedTable
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


@dataclass(frozen=True, slots=True)
class ArchiveTask:
    """One chunk to keep; picklable, its text never shows the location. stem: how the paths of its files begin."""

    source_dsn: str = field(repr=False)
    snapshot: str
    table: TableName
    columns: tuple[str, ...]
    low_page: int
    high_page: int | None
    binary: bool
    trail_url: str = field(repr=False)
    channel: str
    stem: str


def archive_chunks(tasks: Sequence[ArchiveTask]) -> list[tuple[int, tuple[Blob, ...]]]:
    """Rows and files of each task, durable; all of one snapshot. Raises SourceError SRC-170, TrailError, DiskFull."""
    first = tasks[0]
    trail = Trail(first.trail_url, first.channel)
    with session(first.source_dsn, autocommit=False, application_name="ddlrepl refresh") as source:
        try:
            with reading(first.table):
                open_snapshot(source, first.snapshot)
            return [_archived(source, trail, task) for task in tasks]
        except BaseException:
            source.close()  # in the middle of a COPY nothing else ends it
            raise


def _archived(source: Connection[Any], trail: Trail, task: ArchiveTask) -> tuple[int, tuple[Blob, ...]]:
    out = copy_out(task.table, task.columns, task.low_page, task.high_page, binary=task.binary)
    with reading(task.table), ChunkWriter(trail.place, task.stem) as writer:
        rows = writer.write_all(blocks_of(source, out))
        return rows, writer.close()


def archive(
    dsn: str, snapshot: SourceSnapshot, tables: Sequence[Table], place: ArchivePlace, runner: Runner
) -> tuple[LoadedTable, ...]:
    """Write the rows of these tables as the snapshot shows them into the trail. Partitioned tables have none."""
    leaves = {t.id: t for t in tables if not t.is_partitioned}
    pages = {i: n for i, n in snapshot.pages.items() if i in leaves}
    chunks = cut_chunks(pages, runner.parallelism)
    tasks = [_task(dsn, snapshot, leaves[chunk.table_id], chunk, place) for chunk in chunks]
    groups = group_chunks([pages_of(chunk, snapshot.pages) for chunk in chunks], runner.parallelism)
    work = [tuple(tasks[at] for at in group) for group in groups]
    results = runner.map(archive_chunks, work, "keep the rows", size=sum(pages.values()) * PAGE_BYTES)
    done: dict[int, list[tuple[int, tuple[Blob, ...]]]] = {table.id: [] for table in tables}
    for group, found in zip(groups, results, strict=True):
        for at, one in zip(group, found, strict=True):
            done[chunks[at].table_id].append(one)
    return tuple(_loaded(table, done[table.id]) for table in tables)


def _task(dsn: str, snapshot: SourceSnapshot, table: Table, chunk: Chunk, place: ArchivePlace) -> ArchiveTask:
    return ArchiveTask(
        source_dsn=dsn,
        snapshot=snapshot.name,
        table=table.name,
        columns=tuple(c.name for c in valued(table)),
        low_page=chunk.low,
        high_page=chunk.high,
        binary=binary_safe(table),
        trail_url=place.trail_url,
        channel=place.channel,
        stem=f"{place.folder}/{table.id}-{chunk.number}",
    )


def _loaded(table: Table, parts: Sequence[tuple[int, tuple[Blob, ...]]]) -> LoadedTable:
    names = tuple(c.name for c in valued(table))
    return LoadedTable(table, names, binary_safe(table), tuple(files for _, files in parts), sum(n for n, _ in parts))


def require_labels(connection: Connection[Any], tables: Sequence[Table]) -> None:
    """Raises SourceError SRC-172 when the labels of an enum are not as in these shapes any more.

    A COPY calls them as they are called at that moment, whatever its snapshot shows.
    """
    now = {of.oid: of for table in inspect(connection, [t.id for t in tables]) for of in table.types}
    for table in tables:
        for of in table.types:
            if now.get(of.oid, of).labels != of.labels:
                raise SourceError(
                    f"the labels of {of.schema}.{of.name} were changed while its rows were kept",
                    code="SRC-172",
                    table=table.name,
                    hint="nothing is kept of them; the next run does it anew",
                    retryable=True,
                )
