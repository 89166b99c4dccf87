"""This module opens the DuckDB file of a location; one process at a time has it, so that sessions are short.

with session(location) as connection, transaction(connection):
    connection.execute("…")
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_ddlrepl.engines.duckdb_sql.instances import FileInUse, connected
from airflow_ddlrepl.errors import ConfigError, DiskFull, DriverMissing, ServerRefusal, TargetError, Unreachable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from airflow_ddlrepl.errors import DdlReplError

PATIENCE = 30.0
"""So many seconds a session waits for a file that another process has open."""
_PAUSE = 0.1
_TAKEN = ("Could not set lock", "Unique file handle conflict")
"""Parts of DuckDB's messages about a file that another session has open, in this process or another one."""
_UNREADABLE = (
    *("not a valid DuckDB database", "with version number", "orrupt database file", "newer version"),
    *("Could not read enough bytes", "Is a directory"),
)
"""Parts of DuckDB's messages about a file that it can't read."""
_FULL = ("No space left", "File too large", "Disk quota exceeded")
"""Parts of its messages about a disk, or a share of one, that is full."""


def path_of(location: str) -> Path:
    """Return the path of the file of a location, `duckdb:///folder/file.duckdb`. Raises ConfigError CFG-104."""
    parts = urlsplit(location)
    if parts.netloc or not parts.path.strip("/"):
        raise ConfigError(
            "the location of a DuckDB file has three slashes and an absolute path",
            code="CFG-104",
            hint="write duckdb:///folder/file.duckdb",
        )
    return Path(unquote(parts.path))


def staging_folder(location: str) -> Path:
    """Return the folder beside the file in which tasks leave what they have staged or loaded."""
    path = path_of(location)
    return path.with_name(f"{path.name}.ddlrepl")


@contextmanager
def session(location: str, seconds: float | None = None, *, is_reader: bool = False) -> Iterator[Connection]:
    """Open the file, which is created where it does not exist, and close it at the end.

    seconds: how long to wait for another process that has it open. is_reader: nothing is written, so that other readers
    may have it open, too. Raises Unreachable CON-101, TargetError TGT-111 for a file that this version can't read.
    """
    with ExitStack() as closing:
        patience = PATIENCE if seconds is None else seconds
        yield _connect(path_of(location), patience, closing, is_reader=is_reader)


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit what is done inside the `with`, or nothing of it."""
    connection.execute("BEGIN")
    with ExitStack() as undoing:
        undoing.callback(connection.execute, "ROLLBACK")
        yield
        undoing.pop_all()
    connection.execute("COMMIT")


def _connect(path: Path, seconds: float, closing: ExitStack, *, is_reader: bool) -> Connection:
    """Return a connection to a file, which `closing` closes."""
    try:
        import duckdb
    except ImportError as error:
        raise DriverMissing(
            f"DuckDB is not installed in {sys.executable}: {error}",
            code="CON-113",
            hint="pip install 'airflow-ddlrepl[duckdb]'",
        ) from None
    until = time.monotonic() + seconds
    while True:
        try:
            return closing.enter_context(connected(path, is_reader=is_reader and path.exists()))
        except (duckdb.Error, FileInUse) as error:
            if not _is_taken(error) or time.monotonic() > until:
                raise explained(error) or error from None
            time.sleep(_PAUSE)


def _is_taken(error: Exception) -> bool:
    return isinstance(error, FileInUse) or any(part in str(error) for part in _TAKEN)


def explained(error: BaseException) -> DdlReplError | None:
    """Return an error of DuckDB as one that says what to do; None for other errors."""
    try:
        import duckdb
    except ImportError:
        return None
    if not isinstance(error, duckdb.Error | FileInUse):
        return None
    found = passing(error)
    return found or ServerRefusal(
        f"DuckDB refuses a statement: {_line(error)}", code="SQL-100", hint="see what it says, and run again"
    )


def passing(error: Exception, location: str = "") -> DdlReplError | None:
    """Return an error of DuckDB, or of files beside, that is not about what a statement says; None for others.

    location: of the file, where the error is of files beside it, and may not name them.
    """
    import duckdb

    text = _line(error)
    if location and str(path_of(location)) not in text:
        text = f"{text} (in {staging_folder(location)})"
    if _is_taken(error):
        return Unreachable(
            f"another process has the DuckDB file open: {text}",
            code="CON-101",
            hint="close it there: one process at a time can open a file for writing; then run again",
            retryable=True,
        )
    if any(part in text for part in _FULL) or isinstance(error, duckdb.OutOfMemoryException):
        return DiskFull(
            f"DuckDB has no space left: {text}",
            code="DSK-103",
            hint="free space on the disk of the file, where DuckDB also puts what its memory can't hold; uncommitted"
            " work was rolled back, and the next run does it again",
            retryable=True,
        )
    if any(part in text for part in _UNREADABLE):
        return TargetError(
            f"there is no DuckDB file that the installed version ({duckdb.__version__}) can read: {text}",
            code="TGT-111",
            hint="name another file in the location, install the version of duckdb that has written it, or restore it;"
            " `ddlrepl activate` goes on from what it has then",
        )
    if isinstance(error, OSError | duckdb.IOException | duckdb.FatalException | duckdb.InternalException):
        return Unreachable(
            f"the DuckDB file can't be used: {text}",
            code="CON-101",
            hint="see that its folder exists, and that this user may write the file and into the folder",
        )
    return None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
