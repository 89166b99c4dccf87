"""A shadow table of a DuckDB target is a folder beside the file, in which each task leaves one chunk of its rows.

A chunk is a DuckDB file of its own with one table, so that values keep their types, tasks load side by side, and the
target's file is opened only when all rows are there.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.engines.duckdb.connection.database import staging_folder
from airflow_ddlrepl.model.names import TableName

SHADOWS = "shadows"
"""The schema of the names of shadow tables, in the file of a chunk, too."""
_CREATE = "create.sql"


@dataclass(frozen=True, slots=True)
class Shadow:
    """A shadow is the folder of one shadow table."""

    folder: Path

    @classmethod
    def of(cls, location: str, name: TableName) -> Shadow:
        """Return the shadow of this name at a target."""
        return cls(staging_folder(location) / name.name)

    def make(self, create: Sequence[str]) -> None:
        """Make an empty shadow in place of any other. create: the statements that create its table."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / _CREATE).write_text("; ".join(create))

    @property
    def create(self) -> str:
        """Return the SQL that creates the table in the file of a chunk."""
        return (self.folder / _CREATE).read_text()

    def chunk(self, name: str) -> Path:
        """Return the path of the file of a chunk."""
        return self.folder / f"chunk_{name.replace('/', '_')}.duckdb"

    @property
    def chunks(self) -> Sequence[Path]:
        """Return the files of all chunks."""
        return sorted(self.folder.glob("chunk_*.duckdb"))

    def remove(self) -> None:
        """Remove the shadow with its chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)
