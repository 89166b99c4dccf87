"""This module reads rows that a COPY wrote into a trail: the port `ports.rows.RowSource` without a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.copy_text import read_copy_text
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.trail.loads import LoadedTable, read_chunk
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail


@dataclass(frozen=True, slots=True)
class ArchivedRows:
    """Archived rows are a chunk of a table that a COPY wrote into a trail.

    files: are read one after the other. columns: all that were archived.
    """

    trail_url: str = field(repr=False)
    channel: str
    table: TableName
    columns: tuple[str, ...]
    files: tuple[Blob, ...]
    is_binary: bool

    @property
    def size(self) -> int:
        """Return how many bytes the files have."""
        return sum(file.size for file in self.files)

    def native(self, codec: str) -> Iterator[bytes] | None:
        """Yield the bytes that the COPY wrote; None where that was another format."""
        if codec != (BINARY if self.is_binary else TEXT):
            return None
        return read_chunk(Trail(self.trail_url, self.channel), self.files)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow strings. Raises CannotRewind REW-110 for the binary format: it takes a server."""
        if self.is_binary:
            raise CannotRewind(
                "the rows are archived in PostgreSQL's binary format, which no other kind of database reads",
                code="REW-110",
                table=self.table,
                hint="rewind into a PostgreSQL database",
            )
        blocks = read_chunk(Trail(self.trail_url, self.channel), self.files)
        yield from read_copy_text(blocks, self.columns)


def archived_rows(trail_url: str, channel: str, loaded: LoadedTable) -> Sequence[ArchivedRows]:
    """Return the archived chunks of a table."""
    of = (loaded.table.name, loaded.columns)
    return [ArchivedRows(trail_url, channel, *of, files, loaded.is_binary) for files in loaded.chunks]
