"""A shadow table of a lake is a folder of the warehouse, in which each task leaves one chunk of its rows.

A chunk is a Parquet file as the table is to have it, with the ids of the table's columns: what puts the table in place
does not read the rows again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.engines.lake.connection.location import staging_folder
from airflow_ddlrepl.model.names import TableName

SHADOWS = "shadows"
"""The schema of the names of shadow tables."""
_COLUMNS = "columns.json"


@dataclass(frozen=True, slots=True)
class Shadow:
    """A shadow is the folder of one shadow table."""

    folder: Path

    @classmethod
    def of(cls, location: str, name: TableName) -> Shadow:
        """Return the shadow of this name at a target."""
        return cls(staging_folder(location) / name.name)

    def make(self, types: Mapping[str, str], ids: Mapping[str, int]) -> None:
        """Make an empty shadow in place of any other.

        types: Spark's name of each column's type, in their order. ids: that the columns have in the lake's table.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / _COLUMNS).write_text(json.dumps([dict(types), dict(ids)]))

    @property
    def types(self) -> dict[str, str]:
        """Return Spark's name of each column's type."""
        return self._columns[0]

    @property
    def ids(self) -> dict[str, int]:
        """Return the ids that the columns have in the lake's table."""
        return self._columns[1]

    @property
    def _columns(self) -> tuple[dict[str, str], dict[str, int]]:
        types, ids = json.loads((self.folder / _COLUMNS).read_text())
        return types, ids

    def chunk(self, name: str) -> Path:
        """Return the path of the file of a chunk."""
        return self.folder / f"chunk_{name.replace('/', '_')}.parquet"

    @property
    def chunks(self) -> list[Path]:
        """Return the paths of the files with the rows."""
        return sorted(self.folder.glob("chunk_*.parquet"))

    def remove(self) -> None:
        """Remove the shadow with its chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)
