"""This module connects to the repository's database, and makes SQLite and PostgreSQL behave alike."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, Dialect, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from airflow_ddlrepl.config.sections.location import redact, resolve
from airflow_ddlrepl.errors import ConfigError, DdlReplError, DiskFull, RepositoryError, Unreachable
from airflow_ddlrepl.folders import private_folder
from airflow_ddlrepl.model.stored import serialized
from airflow_ddlrepl.notation.environment import expand
from airflow_ddlrepl.repository.stored.tables import SCHEMA

BUSY_SECONDS = 30
_COMPILED: dict[Any, Any] = {}  # statements of ours by dialect; they are few, for values are no part of them
_WRITABLE = (
    "is default_transaction_read_only set for its user or database (ALTER ROLE … RESET default_transaction_read_only),"
    " or is the server a standby? Then name the primary"
)
SETTINGS = "SET search_path = pg_catalog, pg_temp; SET standard_conforming_strings = on; SET row_security = off"
"""What every session at a server sets: no function or operator of a stranger takes the place of a built-in one."""
NO_ROOM_BYTES = 1 << 16  # SQLite's files beside the database need this much to be opened at all


class Database:
    """A database opens transactions by read() and write(); a write sees what every earlier write left."""

    def __init__(self, location: str) -> None:
        """Take the location: sqlite:///FILE, a PostgreSQL URL, or an Airflow connection id; it may hold ${VAR}."""
        self.shown = redact(location)
        url = _url(location)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._file = Path(url.database or "") if self.is_sqlite else None
        self._engine = _sqlite(url) if self.is_sqlite else _postgres(url)
        self._writer = self._engine.execution_options(ddlrepl_write=True)

    def __repr__(self) -> str:
        return f"Database({self.shown!r})"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads."""
        with self._explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that writes; on SQLite it waits for other writers when it begins."""
        with self._explained(), self._writer.begin() as connection:
            yield connection

    def now(self, connection: Connection) -> datetime:
        """Return the time by the clock that leases are measured by: the server's, which all holders share."""
        if self.is_sqlite:
            return datetime.now(UTC)
        moment: datetime = connection.execute(text("select clock_timestamp()")).scalar_one()
        return moment.astimezone(UTC)

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error) from None

    def _explain(self, error: DBAPIError) -> DdlReplError:
        reason = redact(str(error.orig).strip().partition("\n")[0])
        if (full := self._full(reason)) is not None:
            return full
        if _is_read_only(error):
            return RepositoryError(
                f"repository {self.shown} is read-only: {reason}",
                code="REP-121",
                hint="make its file and folder writable" if self.is_sqlite else _WRITABLE,
            )
        if self.is_sqlite and "locked" in reason:
            return RepositoryError(
                f"repository {self.shown} has been locked for {BUSY_SECONDS} s",
                code="REP-105",
                hint="run again when no other process writes to it; use PostgreSQL instead of a file on a network disk",
                retryable=True,
            )
        if isinstance(error, OperationalError) or error.connection_invalidated:
            hint = (
                "check the path and its rights" if self.is_sqlite else "check host, port, user, password and database"
            )
            return Unreachable(
                f"repository {self.shown} can't be reached: {reason}", code="CON-120", hint=hint, retryable=True
            )
        return RepositoryError(
            f"repository {self.shown}: {reason}",
            code="REP-100",
            hint="give its user the right to create a schema there once; if it was changed by hand, restore it",
        )

    def _full(self, reason: str) -> DiskFull | None:
        """Return the error of a full disk: by the reason, or by the free space where SQLite gives no reason."""
        free = shutil.disk_usage(self._file.parent).free if self._file and self._file.parent.is_dir() else None
        is_mute = free is not None and free < NO_ROOM_BYTES and ("I/O error" in reason or "unable to open" in reason)
        if not (is_mute or " is full" in reason or "No space left on device" in reason):
            return None
        room = f"; {free} bytes are free, a few hundred kilobytes are needed" if free is not None else ""
        return DiskFull(
            f"the disk of repository {self.shown} is full: {reason}{room}",
            code="DSK-102",
            hint="free space there. The unfinished write was rolled back, and the next run does it again",
            retryable=True,
        )


def is_there(location: str) -> bool:
    """Return whether the database's file exists, without making it; for a server's database True, without asking it."""
    url = _url(location)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


def _is_read_only(error: DBAPIError) -> bool:
    """Return whether the database refuses all writes: a read-only file system, a standby, a setting of the role."""
    if isinstance(error.orig, sqlite3.Error):
        return (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_READONLY
    return getattr(error.orig, "sqlstate", None) == "25006"


def _url(location: str) -> URL:
    text = expand(location)
    try:
        url = make_url(text if text.startswith("sqlite:") else resolve(location))
        if url.get_backend_name() == "postgresql":
            url = url.set(drivername="postgresql+psycopg", host=unquote(url.host or "") or None)
        return url
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ConfigError(
            f"repository {redact(location)} is not a URL",
            code="CFG-106",
            hint="write sqlite:///path/repository.db or postgresql://user@host/database",
        ) from None


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ConfigError("the repository needs a file", code="CFG-106", hint="write sqlite:///path/repository.db")
    _private_file(Path(url.database), url)
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        execution_options={"compiled_cache": _COMPILED},
    )
    engine.dialect = _dialect()

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy says BEGIN, so that DDL is part of the transaction
        _use_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("ddlrepl_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@cache
def _dialect() -> Dialect:
    """Return one dialect for all files, so that a process compiles a statement once for all repositories."""
    engine = create_engine("sqlite://", json_serializer=serialized)
    engine.connect().close()  # it learns from its first connection
    engine.dispose()
    return engine.dialect


def _use_wal(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once; SQLite's busy timeout does not cover the very first switch."""
    last = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last:
                raise
            time.sleep(0.05)


def _private_file(file: Path, url: URL) -> None:
    """Create the file for its owner only, and folders that are missing likewise.

    A file that is there is never opened here: closing it again would drop every lock that this process holds on it
    (POSIX has it so), and another process could spoil the database.
    """
    try:
        private_folder(file.parent.absolute())
        if not file.exists():
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        if not os.access(file, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if os.stat(file).st_uid == os.getuid():
            file.chmod(0o600)
    except OSError as error:
        raise Unreachable(
            f"repository {redact(str(url))} can't be opened: {error.strerror}",
            code="CON-120",
            hint="check the path and its rights, or set `repository` in the channel file or DDLREPL_HOME",
        ) from None


def _postgres(url: URL) -> Engine:
    engine = create_engine(
        url,
        pool_size=2,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": 10, "application_name": "ddlrepl repository"} | _keepalive(url),
        execution_options={"schema_translate_map": {None: SCHEMA}},
        json_serializer=serialized,
    )

    @event.listens_for(engine, "connect")
    def pin(connection: Any, _record: Any) -> None:
        connection.execute(SETTINGS)
        connection.commit()

    return engine


def _keepalive(url: URL) -> dict[str, Any]:
    return (
        {} if "keepalives" in url.query else {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    )
