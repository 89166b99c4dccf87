"""A shadow table of a DuckDB target is a folder beside the file, in which each task leaves one chunk of its rows.

A chunk is an Arrow stream, so that values keep their types, tasks load side by side, and the target's file is opened
only when all rows are there. DuckDB reads the chunks where they are.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.duckdb.connection.database import staging_folder
from airflow_ddlrepl.model.names import TableName

SHADOWS = "shadows"
"""The schema of the names of shadow tables."""
_TYPES = "types.json"
_CONSTANTS = "constants.json"
_FINISHED = "finished"
_DISCARDED = "discarded.json"


@dataclass(frozen=True, slots=True)
class Shadow:
    """A shadow is the folder of one shadow table."""

    folder: Path

    @classmethod
    def of(cls, location: str, name: TableName) -> Shadow:
        """Return the shadow of this name at a target."""
        return cls(staging_folder(location) / name.name)

    def make(self, types: Mapping[str, str], constants: Mapping[str, str] = {}) -> None:
        """Make an empty shadow in place of any other. types: as what DuckDB holds each column.

        constants: SQL for the values of columns that no row brings: those which the channel file adds to the table.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / _TYPES).write_text(json.dumps(dict(types)))
        (self.folder / _CONSTANTS).write_text(json.dumps(dict(constants)))

    @property
    def types(self) -> dict[str, str]:
        """Return as what DuckDB holds each column."""
        found: dict[str, str] = json.loads((self.folder / _TYPES).read_text())
        return found

    @property
    def constants(self) -> dict[str, str]:
        """Return SQL for the values of columns that no row brings."""
        found: dict[str, str] = json.loads((self.folder / _CONSTANTS).read_text())
        return found

    def chunk(self, name: str) -> Path:
        """Return the path of the file of a chunk."""
        return self.folder / f"chunk_{name.replace('/', '_')}.arrow"

    @property
    def chunks(self) -> list[Path]:
        """Return the paths of the files with the rows: those of the chunks, or the one that `finish` has left."""
        return [self.chunk(_FINISHED)] if self.is_finished else sorted(self.folder.glob("chunk_*.arrow"))

    @property
    def is_finished(self) -> bool:
        """Return whether the rows are those that are left after `finish`."""
        return self.chunk(_FINISHED).exists()

    @property
    def discarded(self) -> list[tuple[tuple[str, ...], str, dict[str, str | None]]]:
        """Return the rows that `finish` has found not to fit: the key, the reason, and the values."""
        path = self.folder / _DISCARDED
        found = json.loads(path.read_text()) if path.exists() else []
        return [(tuple(key), reason, json.loads(row)) for key, reason, row in found]

    def finish(self, made: Path, discarded: Sequence[Sequence[Any]] = ()) -> None:
        """Put a file of rows in the place of all chunks, at one moment: a task that is run again adds no row.

        discarded: the rows that are not among them: the key, the reason, and the values as JSON.
        """
        chunks = self.chunks
        if discarded:
            (self.folder / _DISCARDED).write_text(json.dumps([[*row] for row in discarded]))
        made.replace(self.chunk(_FINISHED))
        for one in chunks:
            one.unlink()

    @property
    def rows(self) -> pa.Table | None:
        """Return the rows of all chunks, which stay in their files until they are read; None: there is no chunk."""
        chunks = [read_chunk(one) for one in self.chunks]
        return pa.concat_tables(chunks) if chunks else None

    def remove(self) -> None:
        """Remove the shadow with its chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)


def read_chunk(path: Path) -> pa.Table:
    """Return the rows of a chunk, which stay in its file until they are read."""
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
