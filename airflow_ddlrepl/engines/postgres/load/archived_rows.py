"""This module reads rows that a COPY wrote into a trail: the port `ports.rows.RowSource` without a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.copy_binary import read_copy_binary
from airflow_ddlrepl.engines.postgres.connection.copy_text import read_copy_text
from airflow_ddlrepl.engines.postgres.load.table_rows import BINARY, TEXT
from airflow_ddlrepl.engines.postgres.load.typed_rows import typed
from airflow_ddlrepl.engines.postgres.types.families import plain_name
from airflow_ddlrepl.ports.rows import TypedRows
from airflow_ddlrepl.trail.loads import LoadedTable, read_chunk
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.store import Trail


@dataclass(frozen=True, slots=True)
class ArchivedRows:
    """Archived rows are a chunk of a table that a COPY wrote into a trail.

    files: are read one after the other. columns: all that were archived. types: theirs, by `plain_name`.
    """

    trail_url: str = field(repr=False)
    channel: str
    columns: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
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
        return self._blocks()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow strings."""
        if self.is_binary:
            schema = pa.schema([(name, pa.string()) for name in self.columns])
            return (batch.rows for batch in self.typed(schema))
        return read_copy_text(self._blocks(), self.columns)

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values of the types of a schema."""
        read, encoding = (read_copy_binary, "binary") if self.is_binary else (read_copy_text, "text")
        types, encodings = dict(self.types), dict.fromkeys(self.columns, encoding)
        return (typed(batch, types, schema, encodings) for batch in read(self._blocks(), self.columns))

    def _blocks(self) -> Iterator[bytes]:
        return read_chunk(Trail(self.trail_url, self.channel), self.files)


def archived_rows(trail_url: str, channel: str, loaded: LoadedTable) -> Sequence[ArchivedRows]:
    """Return the archived chunks of a table."""
    table, columns = loaded.table, loaded.columns
    types = tuple((column.name, plain_name(column.type.text, table.types)) for column in table.columns)
    return [ArchivedRows(trail_url, channel, columns, types, files, loaded.is_binary) for files in loaded.chunks]
