"""This module turns what the driver raises into errors that say what to do.

It knows PostgreSQL's conditions by name, by SQLSTATE and by text.
"""

from __future__ import annotations

import re
from typing import Any

from airflow_ddlrepl.errors import DdlReplError, DiskFull, ServerRefusal, Unreachable

EITHER = "the source or a target"
DISK_FULL = "53100"
CONTENTION = ("55P03", "40P01", "40001")  # lock not available, deadlock, serialization failure
_CALL = re.compile(r'(?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))?\([^()]*\)')
_LOST = re.compile(
    r"server closed the connection|no connection to the server|terminating connection|connection (is|was|not) "
    r"|could not (receive|send) data|connection refused|connection reset",
    re.IGNORECASE,
)


def errors() -> Any:
    """Return psycopg's error classes by condition, e.g. `errors().InsufficientPrivilege`."""
    from psycopg import errors as conditions

    return conditions


def explained(error: BaseException) -> DdlReplError | None:
    """Return a driver's error that nobody expected as one that says what to do; None when it is no driver's.

    As `passing`; and ServerRefusal SQL-102: a lock can't be had, SQL-101: a right is missing, SQL-103:
    a function is, SQL-100: anything else.
    """
    import psycopg

    if not isinstance(error, psycopg.Error):
        return None
    text, state = " ".join(str(error).split()), error.sqlstate or ""
    if (known := passing(error)) is not None:
        return known
    if state in CONTENTION:
        return ServerRefusal(
            f"a lock was not granted in time: {text}",
            code="SQL-102",
            hint="a long query or an idle transaction blocks it (pg_stat_activity, pg_blocking_pids); run again",
            retryable=True,
        )
    if state == "42501":
        hint = "grant it to the role of the location, at the source or the target; `ddlrepl doctor` looks for others"
        return ServerRefusal(f"a right is missing: {text}", code="SQL-101", hint=hint)
    if missing := missing_function(error):
        lacks = ServerRefusal(f"the source or a target lacks a function: {text}", code="SQL-103", hint=_LACKS)
        lacks.missing = missing
        return lacks
    return ServerRefusal(f"the source or a target refuses: {text}", code="SQL-100", hint="see its log; run again")


_LACKS = (
    "an expression of the table calls what this server's version, or an extension that it does not have, brings:"
    " create the extension there, or drop the expression at the source (ALTER COLUMN … DROP DEFAULT, DROP EXPRESSION),"
    " or leave the table out of the channel"
)


def missing_function(error: Any) -> str:
    """Return the function that a statement calls and the server does not have, with the types of its arguments."""
    text = (error.diag.message_primary or "") if error.sqlstate == "42883" else ""
    found = _CALL.search(text)
    return found[0] if found else ""


def passing(error: BaseException, place: str = EITHER) -> DdlReplError | None:
    """Return a driver's error that is the server's trouble, not the statement's, as one of ours; None when it is not.

    Unreachable CON-104: the connection broke. DiskFull DSK-103: the server's disk is full. Run again when the
    server is well. error: of psycopg or ADBC. place: "the target", where it is known.
    """
    import psycopg

    text, state = " ".join(str(error).split()), getattr(error, "sqlstate", None) or ""
    if state == DISK_FULL or "No space left on device" in text:
        return DiskFull(
            f"a disk of {place} is full: {text}",
            code="DSK-103",
            hint="free space on that server; uncommitted work was rolled back, and the next run does it again",
            retryable=True,
        )
    is_lost = isinstance(error, psycopg.OperationalError) or _LOST.search(text)
    if state.startswith(("08", "57P")) or (not state and is_lost):
        return Unreachable(
            f"a connection to {place} broke: {text}",
            code="CON-104",
            hint="is the server still running? Uncommitted work was rolled back; run again",
            retryable=True,
        )
    return None
