"""A shadow table of a lake is a folder of the warehouse, in which each task leaves one chunk of its rows.

A chunk is a Parquet file as the table is to have it, with the ids of the table's columns: what puts the table in place
does not read the rows again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.connection.files import MADE, Files
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.load.fitting import Discarded, Fitting
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.model.names import TableName

SHADOWS = "shadows"
"""The schema of the names of shadow tables."""
_COLUMNS, _CHUNK, _DISCARDED = "columns.json", "chunk_", "discarded_"


@dataclass(frozen=True, slots=True)
class Shadow:
    """A shadow is the folder of one shadow table. files: of the warehouse."""

    folder: str
    files: Files

    @classmethod
    def of(cls, location: str, name: TableName) -> Shadow:
        """Return the shadow of this name at a target."""
        place = location_of(location)
        return cls(f"{place.staging_folder}/{name.name}", place.files)

    def make(self, fitting: Fitting, ids: Mapping[str, int]) -> None:
        """Make an empty shadow in place of any other. ids: that the columns have in the lake's table."""
        self.remove()
        self.fit(fitting, ids)

    def fit(self, fitting: Fitting, ids: Mapping[str, int]) -> None:
        """Store how the rows become those of the table, before any is loaded."""
        self._write(_COLUMNS, [fitting.to_json(), dict(ids)])

    @property
    def fitting(self) -> Fitting:
        """Return how the rows become those of the table."""
        return Fitting.from_json(self._read(_COLUMNS)[0])

    @property
    def types(self) -> dict[str, str]:
        """Return Spark's name of each column's type."""
        return columns_sql(self.fitting.shape)

    @property
    def ids(self) -> dict[str, int]:
        """Return the ids that the columns have in the lake's table."""
        found: dict[str, int] = self._read(_COLUMNS)[1]
        return found

    def chunk(self, name: str) -> str:
        """Return the path of the file of a chunk."""
        return f"{self.folder}/{_CHUNK}{name.replace('/', '_')}.parquet"

    @property
    def chunks(self) -> list[str]:
        """Return the paths of the files with the rows."""
        return [f"{self.folder}/{name}" for name in self._names(_CHUNK)]

    def size(self, chunk: str) -> int:
        """Return how many bytes the file of a chunk has. chunk: its path."""
        with self.files.open(chunk) as file:
            return file.seek(0, os.SEEK_END)

    def rows(self, chunk: str) -> pa.Table:
        """Return the rows of a chunk. chunk: its path."""
        with self.files.open(chunk) as file:
            return pq.read_table(file)

    @property
    def columns(self) -> list[str]:
        """Return the columns that the files have; there is at least one file."""
        with self.files.open(self.chunks[0]) as file:
            return list(pq.read_schema(file).names)

    def without_ids(self, columns: Sequence[str]) -> list[str]:
        """Return the paths of files with some columns of the rows, which have no ids."""
        made = [f"{self.folder}/columns_{number:05}.parquet" for number, _ in enumerate(self.chunks)]
        for chunk, path in zip(self.chunks, made, strict=True):
            with self.files.open(chunk) as old, pq.ParquetFile(old) as file, self.files.creating(path) as new:
                schema = pa.schema([file.schema_arrow.field(name).remove_metadata() for name in columns])
                with pq.ParquetWriter(new, schema, compression="zstd", store_schema=False) as writer:
                    for rows in file.iter_batches(columns=[*columns]):
                        values = [rows.column(name) for name in columns]
                        writer.write_batch(pa.RecordBatch.from_arrays(values, schema=schema))
        return made

    def discard(self, chunk: str, rows: Sequence[Discarded]) -> None:
        """Store the rows of a chunk that do not fit the table's columns."""
        self._write(f"{_DISCARDED}{chunk.replace('/', '_')}.json", rows)

    @property
    def discarded(self) -> list[Discarded]:
        """Return the rows that do not fit the table's columns."""
        found = [one for name in self._names(_DISCARDED) for one in self._read(name)]
        return [(tuple(key), reason, row) for key, reason, row in found]

    def remove(self) -> None:
        """Remove the shadow with its chunks."""
        self.files.remove(self.folder)

    def _names(self, begin: str) -> list[str]:
        """Return the names of the files whose names begin so."""
        names = [path.rpartition("/")[2] for path in self.files.inside(self.folder)]
        return [name for name in names if name.startswith(begin) and not name.endswith(MADE)]

    def _write(self, name: str, what: Any) -> None:
        with self.files.creating(f"{self.folder}/{name}") as file:
            file.write(json.dumps(what).encode())

    def _read(self, name: str) -> Any:
        return json.loads(self.files.read(f"{self.folder}/{name}"))
