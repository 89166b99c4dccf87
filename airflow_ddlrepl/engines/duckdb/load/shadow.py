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
from airflow_ddlrepl.engines.duckdb.connection.quoting import quote
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

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

    def make(self, shape: Table, name: TableName) -> None:
        """Make an empty shadow of a table of this shape, in place of any other."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        columns = ", ".join(f"{quote(column)} {of}" for column, of in columns_sql(shape).items())
        create = f"CREATE SCHEMA {quote(name.schema)}; CREATE TABLE {quote(name.schema)}.{quote(name.name)} ({columns})"
        (self.folder / _CREATE).write_text(create)

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
