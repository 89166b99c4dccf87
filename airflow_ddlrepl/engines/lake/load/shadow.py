"""A shadow table of a lake is a folder of the warehouse, in which each task leaves one chunk of its rows.

A chunk is a Parquet file as the table is to have it, with the ids of the table's columns: what puts the table in place
does not read the rows again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.engines.lake.connection.location import staging_folder
from airflow_ddlrepl.engines.lake.load.fitting import Discarded, Fitting
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
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

    def make(self, fitting: Fitting, ids: Mapping[str, int]) -> None:
        """Make an empty shadow in place of any other. ids: that the columns have in the lake's table."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.fit(fitting, ids)

    def fit(self, fitting: Fitting, ids: Mapping[str, int]) -> None:
        """Store how the rows become those of the table, before any is loaded."""
        (self.folder / _COLUMNS).write_text(json.dumps([fitting.to_json(), dict(ids)]))

    @property
    def fitting(self) -> Fitting:
        """Return how the rows become those of the table."""
        return Fitting.from_json(json.loads((self.folder / _COLUMNS).read_text())[0])

    @property
    def types(self) -> dict[str, str]:
        """Return Spark's name of each column's type."""
        return columns_sql(self.fitting.shape)

    @property
    def ids(self) -> dict[str, int]:
        """Return the ids that the columns have in the lake's table."""
        found: dict[str, int] = json.loads((self.folder / _COLUMNS).read_text())[1]
        return found

    def chunk(self, name: str) -> Path:
        """Return the path of the file of a chunk."""
        return self.folder / f"chunk_{name.replace('/', '_')}.parquet"

    @property
    def chunks(self) -> list[Path]:
        """Return the paths of the files with the rows."""
        return sorted(self.folder.glob("chunk_*.parquet"))

    def discard(self, chunk: str, rows: Sequence[Discarded]) -> None:
        """Store the rows of a chunk that do not fit the table's columns."""
        (self.folder / f"discarded_{chunk.replace('/', '_')}.json").write_text(json.dumps(rows))

    @property
    def discarded(self) -> list[Discarded]:
        """Return the rows that do not fit the table's columns."""
        found = [one for path in sorted(self.folder.glob("discarded_*.json")) for one in json.loads(path.read_text())]
        return [(tuple(key), reason, row) for key, reason, row in found]

    def remove(self) -> None:
        """Remove the shadow with its chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)
