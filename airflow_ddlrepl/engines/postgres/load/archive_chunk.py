"""Keep the rows of a chunk in the trail: COPY out of the source under an exported snapshot, into files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import blocks_of, copy_out, open_snapshot, reading
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.trail.loads import ChunkWriter
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


@dataclass(frozen=True, slots=True)
class SaveTask:
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


def save_chunks(tasks: Sequence[SaveTask]) -> list[tuple[int, tuple[Blob, ...]]]:
    """Rows and files of each task, durable; all of one snapshot. Raises SourceError SRC-170, TrailError, DiskFull."""
    first = tasks[0]
    trail = Trail(first.trail_url, first.channel)
    with session(first.source_dsn, autocommit=False, application_name="ddlrepl refresh") as source:
        try:
            with reading(first.table):
                open_snapshot(source, first.snapshot)
            return [_saved(source, trail, task) for task in tasks]
        except BaseException:
            source.close()  # in the middle of a COPY nothing else ends it
            raise


def _saved(source: Connection[Any], trail: Trail, task: SaveTask) -> tuple[int, tuple[Blob, ...]]:
    out = copy_out(task.table, task.columns, task.low_page, task.high_page, binary=task.binary)
    with reading(task.table), ChunkWriter(trail.place, task.stem) as writer:
        rows = writer.write_all(blocks_of(source, out))
        return rows, writer.close()
