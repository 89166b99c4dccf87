"""What a reader of a lake sees, by code that is none of the product's: DuckDB for rows, plain SQL for the catalog."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb

from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.catalogs import Query, catalog_of, is_server, ours

POINTERS = "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables WHERE catalog_name = 'lake'"
SECONDS = 0.002


@lru_cache(maxsize=1)
def reader() -> Any:
    """A connection of DuckDB that reads Iceberg; its extensions are files of packages, no network is asked."""
    connection = duckdb.connect()
    for name in ("avro", "iceberg"):
        spec = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert spec is not None and spec.origin is not None
        (file,) = Path(spec.origin).parent.glob("extensions/*/*.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def pointers(location: str) -> dict[TableName, str]:
    """Where the metadata of each table is that readers see."""
    with catalog_of(location) as query:
        return _pointers(query)


def rows_at(metadata: str) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """Columns and rows of a table, as texts, by its metadata."""
    scan = f"iceberg_scan('{metadata}')"
    columns = [row[0] for row in reader().execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()]
    texts = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in columns)
    return columns, reader().execute(f"SELECT {texts} FROM {scan}").fetchall()


def _pointers(query: Query) -> dict[TableName, str]:
    return {TableName(schema, name): metadata for schema, name, metadata in query(POINTERS)}


OF_EACH_WINDOW = ("ddlrepl_heads", "ddlrepl_written")
"""Tables of the product that tell nothing of a position: they change with the pointers, whatever a window is."""


@dataclass(frozen=True)
class Seen:
    """What is in the catalog at one moment. tables: their metadata. ours: all that the product stores there."""

    tables: dict[TableName, str]
    ours: dict[str, list[Any]] = field(repr=False)


class Beside:
    """A reader that looks at a lake all the time. seen: each state of it that was unlike the one before."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.seen: list[Seen] = []
        self._strangers: list[int] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look, name="reader beside", daemon=True)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    @contextmanager
    def of_nobody(self) -> Iterator[None]:
        """What is written inside the `with` is somebody else's."""
        before = len(self.seen)
        yield
        self._note()
        self._strangers += range(before, len(self.seen) + 1)

    def check(self) -> None:
        """Tables never changed without what the target stores of them, nor in two steps: both are one transaction."""
        for number, (before, after) in enumerate(zip(self.seen, self.seen[1:], strict=False), 1):
            if before.tables != after.tables and before.ours == after.ours and number not in self._strangers:
                changed = {str(one) for one in {*before.tables, *after.tables} if _differs(one, before, after)}
                raise AssertionError(f"a reader saw half a window: {sorted(changed)} came on their own")

    def all_at_once(self, is_whole: Callable[[dict[TableName, str]], bool]) -> int:
        """Each state that was seen is whole; how many there were."""
        states = list({tuple(sorted(seen.tables.items(), key=str)): seen.tables for seen in self.seen}.values())
        for tables in states:
            assert is_whole(tables), f"a reader saw half a window: {tables}"
        return len(states)

    def _look(self) -> None:
        while not self._ends.wait(SECONDS * (10 if is_server(self.location) else 1)):
            self._note()
        self._note()

    def _note(self) -> None:
        with catalog_of(self.location) as query:
            names = [name for name in ours(self.location, query) if name not in OF_EACH_WINDOW]
            stored = {name: sorted(query(f'SELECT * FROM "{name}"'), key=str) for name in names}
            if not stored:
                return  # the catalog has no tables yet
            found = Seen(_pointers(query), stored)
        if not self.seen or self.seen[-1] != found:
            self.seen.append(found)


def _differs(name: TableName, before: Seen, after: Seen) -> bool:
    return before.tables.get(name) != after.tables.get(name)
