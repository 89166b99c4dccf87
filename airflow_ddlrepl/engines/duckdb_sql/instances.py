"""This module keeps instances of DuckDB in this process, because to start one takes 40 ms, and attaches files to them.

Between sessions no file is attached, so that other processes can open it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.duckdb_sql.quoting import literal
from airflow_ddlrepl.errors import DiskFull, RowsRefused

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_FILE = "ddlrepl_file"
"""The name of an attached file: under its own name, that of a schema in it would be ambiguous."""


class FileInUse(Exception):
    """This exception says that a session of this process has a file open to be read only."""


class _Instance:
    """An instance of DuckDB for one file, which is attached while sessions use it. path: None: without a file."""

    def __init__(self, path: Path | None) -> None:
        import duckdb

        self.path = path
        self.users = 0
        self.is_sound = True
        self._is_reader = False
        self._memory = duckdb.connect(":memory:", config={"temp_directory": f"{path}.tmp"} if path else {})
        self._memory.execute("SET disabled_compression_methods = 'dictionary'")  # trying it costs half of a load
        self._memory.execute("SET arrow_lossless_conversion = true")

    def connect(self, *, is_reader: bool) -> Connection:
        """Return a connection to the file, which is attached before. Raises FileInUse, and what DuckDB raises."""
        if self.users and self._is_reader and not is_reader:
            raise FileInUse(f"a session of this process reads {self.path}")
        connection = self._memory.cursor()
        try:
            connection.execute("SET TimeZone = 'UTC'")
            if self.path is not None:
                self._attach(connection, self.path, is_reader=is_reader)
        except BaseException:
            connection.close()
            raise
        self.users += 1
        return connection

    def _attach(self, connection: Connection, path: Path, *, is_reader: bool) -> None:
        if not self.users:
            mode = " (READ_ONLY)" if is_reader else ""
            connection.execute(f"ATTACH {literal(str(path))} AS {_FILE}{mode}")
            self._is_reader = is_reader
        connection.execute(f"USE {_FILE}")

    def disconnect(self, connection: Connection) -> None:
        """Close a connection; after the last one the file is detached, which writes its checkpoint."""
        self.users -= 1
        connection.close()
        if not self.users and self.path is not None:
            self._memory.execute(f"DETACH {_FILE}")

    def close(self) -> None:
        """End the instance."""
        self._memory.close()


class _Instances:
    """The instances of this process: those in use, the last one that had a file, and the one without a file."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Have no instance, as a process that was just forked."""
        self._lock = threading.RLock()
        self._known: dict[Path | None, _Instance] = {}

    def connect(self, path: Path | None, *, is_reader: bool) -> tuple[_Instance, Connection]:
        """Return a connection to a file, and its instance."""
        with self._lock:
            if path not in self._known:
                self._close_idle([*self._known.keys() - {None}])
                self._known[path] = _Instance(path)
            return self._known[path], self._known[path].connect(is_reader=is_reader)

    def disconnect(self, instance: _Instance, connection: Connection) -> None:
        """Close a connection; after an error the instance is not used again."""
        with self._lock:
            try:
                instance.disconnect(connection)
            except BaseException:
                instance.is_sound = False
                raise
            finally:
                if not instance.is_sound:
                    self._close_idle([instance.path])

    def close_idle(self) -> None:
        """Close all instances that no session uses; a process that is forked could not go on with their threads."""
        with self._lock:
            self._close_idle(list(self._known))

    def _close_idle(self, paths: list[Path | None]) -> None:
        for path in paths:
            if not self._known[path].users:
                self._known.pop(path).close()


_instances = _Instances()
os.register_at_fork(before=_instances.close_idle, after_in_child=_instances.begin)


@contextmanager
def connected(path: Path | None = None, *, is_reader: bool = False) -> Iterator[Connection]:
    """Connect to a file, which is created where it does not exist; without a path, to a database in memory.

    Raises FileInUse, and what DuckDB raises of the file.
    """
    instance, connection = _instances.connect(path, is_reader=is_reader)
    try:
        yield connection
    except BaseException:
        instance.is_sound = False
        raise
    finally:
        _instances.disconnect(instance, connection)


@contextmanager
def spilling() -> Iterator[Connection]:
    """Connect to a new database in memory, which puts into a folder of this machine what a gigabyte can't hold."""
    import duckdb

    with TemporaryDirectory(prefix="ddlrepl-") as folder:
        limits = {"temp_directory": folder, "memory_limit": "1GB", "preserve_insertion_order": "false"}
        with duckdb.connect(":memory:", config=limits) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection


@contextmanager
def refused() -> Iterator[None]:
    """Raise an error that says what to do, for what DuckDB refuses of values inside the `with`, or has no space for."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        text = " ".join(str(error).split())
        if isinstance(error, duckdb.OutOfMemoryException) or "No space left" in text:
            raise DiskFull(
                f"DuckDB has no space left: {text}",
                code="DSK-103",
                hint="free space in the folder of temporary files, where it puts what its memory can't hold",
                retryable=True,
            ) from None
        raise RowsRefused(
            f"DuckDB does not take the rows: {text}",
            code="INT-105",
            hint="docs/types.md says which values a target's types hold: correct the value at the source, or leave the"
            " column out (`column_properties`)",
        ) from None


def scratch() -> AbstractContextManager[Connection]:
    """Connect to a database in memory, of this process alone."""
    return connected()
