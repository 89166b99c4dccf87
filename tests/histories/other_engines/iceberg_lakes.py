"""Plays a history into lakes of Iceberg tables: each is as the source, as DuckDB reads it, but for tables that wait.

python -m tests.histories.other_engines.iceberg_lakes 18 1-100
DDLREPL_CATALOG=rest python -m tests.histories.other_engines.iceberg_lakes 18 1-50    # REST servers have the catalogs
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from airflow_ddlrepl.model.names import TableName
from tests.histories import histories
from tests.histories.equality import Name
from tests.histories.other_engines.duckdb_files import Filing, text_of
from tests.histories.other_engines.held import Held, Row
from tests.histories.player import Step
from tests.histories.row_statements import NAMES, SCHEMAS
from tests.support.lakes.catalogs import catalog_of
from tests.support.lakes.reader import POINTERS, reader
from tests.support.lakes.rest import Rest

REFUSED = [one for one in (*NAMES, *SCHEMAS) if "%" in one]
"""Names of tables and schemas that Iceberg's reference server does not take."""
TABLES = f"{POINTERS} AND coalesce(iceberg_type, 'TABLE') = 'TABLE'"


class Lake:
    """A lake as it was at one moment. tables: the path of each one's metadata file."""

    def __init__(self, tables: Mapping[TableName, str]) -> None:
        self.tables = tables

    def columns(self, name: Name) -> dict[str, str]:
        if TableName(*name) not in self.tables:
            return {}
        found = reader().execute(f"DESCRIBE SELECT * FROM {self._scan(name)}").fetchall()
        return {column: of for column, of, *_ in found}

    def rows(self, name: Name, columns: Mapping[str, str]) -> list[Row]:
        texts = ", ".join(text_of(column, of == "BLOB") for column, of in columns.items())
        found: list[Row] = reader().execute(f"SELECT {texts} FROM {self._scan(name)}").fetchall()
        return found

    def _scan(self, name: Name) -> str:
        return f"iceberg_scan('{self.tables[TableName(*name)]}')"


class Laking(Filing):
    """Every target is a lake."""

    location = "iceberg://{folder}/catalog{number}.db?warehouse={folder}/warehouse{number}"
    shows_trees = False  # a partitioned table is a view of Spark's, which DuckDB does not read
    patience = 3600
    smallest_piece = 100  # each piece of a table without a key is a merge

    @contextmanager
    def reading(self, location: str) -> Iterator[Held]:
        with catalog_of(location) as query:
            yield Lake({TableName(schema, name): metadata for schema, name, metadata in query(TABLES)})


@cache
def server(number: int) -> Rest:
    """The server of a target; it ends with this process."""
    found = Rest.free(Path(tempfile.mkdtemp(prefix="rest-")))
    found.start()
    atexit.register(found.stop)
    return found


class InRest(Laking):
    """The catalog of each lake is a REST server's."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        for number, _ in enumerate(self.targets):
            server(number).clear()

    def place(self, folder: Path, number: int) -> str:
        return f"{super().place(folder, number)}&{server(number).settings()}"

    def along(self, steps: Iterator[Step], seed: int) -> Iterator[Step]:
        """The steps, with names that the server takes in place of those that it does not."""
        for step in super().along(steps, seed):
            text = step.text
            for name in REFUSED:
                text = text.replace(name, name.replace("%", ""))
            yield replace(step, text=text)

    @contextmanager
    def reading(self, location: str) -> Iterator[Held]:
        yield Lake(server(self.targets.index(location)).pointers())


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], InRest if os.environ.get("DDLREPL_CATALOG") == "rest" else Laking))
