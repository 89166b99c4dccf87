"""This module turns errors of the database of a lake's catalog into errors that say what to do."""

from __future__ import annotations

import errno
import re
import sqlite3
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError, DiskFull, ServerRefusal, TargetError, Unreachable

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The numbers of errors of a system whose disk, or whose share of it, is full."""
_OF_FILE = "see that its folder exists, and that this user may write the file and into the folder"


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A trouble is what a server says, by its SQLSTATE or in its text where it has none, and what to do then."""

    states: tuple[str, ...]
    text: str
    code: str
    what: str
    hint: str
    retryable: bool = False


_TROUBLES = (
    _Trouble(
        ("28",),
        "authentication failed|no password supplied|no pg_hba.conf entry|not permitted to log in",
        "CON-102",
        "refuses the login",
        "check user and password of the location, and the server's pg_hba.conf",
    ),
    _Trouble(
        ("3D000",), r'database ".*" does not exist', "CON-103", "does not exist", "check its name in the location"
    ),
    _Trouble(
        ("25006",),
        "(?!)",
        "CON-105",
        "is read-only",
        "is the server a standby, or default_transaction_read_only set? Name the primary",
        retryable=True,
    ),
    _Trouble(
        ("55P03", "40"),
        "(?!)",
        "CON-101",
        "is written to by another process",
        "run again when it has ended",
        retryable=True,
    ),
    _Trouble(
        ("08", "57P"),
        "server closed the connection|connection is closed|SSL connection has been closed|consuming input failed",
        "CON-104",
        "has ended the connection",
        "is the server still running? What was not committed is not seen, and the next run does it again",
        retryable=True,
    ),
)


def explained_sql(error: BaseException, database: str = "") -> DdlReplError | None:
    """Return an error of the database as one that says what to do; None for others. database: its place, for people."""
    if not isinstance(error, DBAPIError | OSError):
        return None
    cause = error.orig if isinstance(error, DBAPIError) else error
    reason = redact(" ".join(str(cause).split()))
    if isinstance(cause, OSError):
        return disk_full(reason) if cause.errno in FULL else _unusable(reason)
    is_server = type(cause).__module__.partition(".")[0] == "psycopg"
    return _of_server(cause, reason, database) if is_server else _of_file(cause, reason)


def disk_full(reason: str) -> DiskFull:
    """Return the error of a disk of a lake that is full. reason: what says so."""
    return DiskFull(
        f"the disk of a lake is full: {reason}",
        code="DSK-103",
        hint="free space there; what was not committed is not seen, and the next run does it again",
        retryable=True,
    )


def _of_server(cause: object, reason: str, database: str) -> DdlReplError:
    state = getattr(cause, "sqlstate", None) or ""
    if state == "53100":
        return disk_full(reason)
    place = f"the database of the lake's catalog{f' ({database})' if database else ''}"
    for one in _TROUBLES:
        if state.startswith(one.states) if state else re.search(one.text, reason):
            return Unreachable(f"{place} {one.what}: {reason}", code=one.code, hint=one.hint, retryable=one.retryable)
    if state == "42501":
        return ServerRefusal(
            f"a right is missing in {place}: {reason}",
            code="SQL-101",
            hint="the role of the location creates tables in the first schema of its search_path (GRANT CREATE ON"
            " SCHEMA public), and writes iceberg_tables and iceberg_namespace_properties there",
        )
    if state:
        return ServerRefusal(f"{place} refuses: {reason}", code="SQL-100", hint="see the server's log; run again")
    return Unreachable(
        f"{place} does not answer: {reason}",
        code="CON-101",
        hint="check that the server runs, its host and port, and firewalls",
        retryable=True,
    )


def _of_file(cause: object, reason: str) -> DdlReplError:
    """Return the error of an SQLite file, by the code that it has besides its text."""
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the rest of the code is the case
    if code == sqlite3.SQLITE_FULL:
        return disk_full(reason)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unreachable(
            f"another process writes to the lake's catalog: {reason}",
            code="CON-101",
            hint="run again when it has ended",
            retryable=True,
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return TargetError(
            f"the catalog of a lake is no SQLite database: {reason}",
            code="TGT-111",
            hint="name another file in the location, or restore it; `ddlrepl activate` goes on from what it has then",
        )
    return _unusable(reason)


def _unusable(reason: str) -> Unreachable:
    return Unreachable(f"the catalog of a lake can't be used: {reason}", code="CON-101", hint=_OF_FILE)
