"""Plays a history into lakes of Iceberg tables: each is as the source, as DuckDB reads it, but for tables that wait.

python -m tests.histories.other_engines.iceberg_lakes 18 1-100
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from airflow_ddlrepl.model.names import TableName
from tests.histories import histories
from tests.histories.equality import Name
from tests.histories.other_engines.duckdb_files import Filing, text_of
from tests.histories.other_engines.held import Held, Row
from tests.support.lakes.catalogs import catalog_of
from tests.support.lakes.reader import POINTERS, reader

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

    @contextmanager
    def reading(self, location: str) -> Iterator[Held]:
        with catalog_of(location) as query:
            yield Lake({TableName(schema, name): metadata for schema, name, metadata in query(TABLES)})


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Laking))
