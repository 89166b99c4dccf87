"""This module turns what the driver raises into errors that say what to do.

It knows PostgreSQL's conditions by name, by SQLSTATE and by text. Texts of a server are shown, and decide nothing but
what a hint names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.errors import DdlReplError, DiskFull, ServerRefusal, Unreachable

EITHER = "the source or a target"
DISK_FULL, READ_ONLY = "53100", "25006"
CONTENTION = ("55P03", "40P01", "40001")  # lock not available, deadlock, serialization failure
_LOST = re.compile(
    r"server closed the connection|no connection to the server|terminating connection|connection (is|was|not) "
    r"|could not (receive|send) data|connection refused|connection reset",
    re.IGNORECASE,
)


_CALL = re.compile(r'(?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))?\([^()]*\)')
_OBJECT = re.compile(
    r"(type|collation|operator class|operator family|role|tablespace|language|access method|schema|extension"
    r'|text search configuration|relation) "((?:[^"]|"")*)"'
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition says which error of ours a server's refusal becomes.

    states: SQLSTATEs, or their beginnings. what: in words. hint: the next step. retryable: the same statement may work
    later without any change.
    """

    states: tuple[str, ...]
    code: str
    what: str
    hint: str
    retryable: bool = False


CONDITIONS = (
    Condition(
        ("42883",),
        "SQL-103",
        "lacks a function",
        "an expression of the table calls what this server's version, or an extension that it does not have, brings:"
        " create the extension there, or drop the expression at the source (ALTER COLUMN … DROP DEFAULT,"
        " DROP EXPRESSION), or leave the table out of the channel",
    ),
    Condition(
        ("42704", "3F000", "42P01"),
        "SQL-103",
        "does not have what a statement names",
        "create it there as the source has it, and run again",
    ),
    Condition(
        ("0A000", "42601"),
        "SQL-104",
        "does not support what a statement needs",
        "use a server of the source's version that was built with it, or leave the column out or give it another type"
        " (`column_properties`)",
    ),
    Condition(
        ("54",),
        "SQL-105",
        "reaches one of its limits",
        "a row, a key or a table is larger than that server can have; leave the column out (`column_properties`), or "
        "load the table again where it had many columns that were dropped: ddlrepl refresh --table",
    ),
    Condition(
        ("XX001", "XX002", "58"),
        "SQL-106",
        "reports that its files are damaged or can't be read",
        "see its log, repair or restore that server, then `ddlrepl compare`",
    ),
    Condition(
        ("53200", "53400"),
        "SQL-107",
        "has not enough memory or temporary space for a statement",
        "give it more (work_mem, maintenance_work_mem, temp_file_limit, the machine's memory), and run again",
        retryable=True,
    ),
    Condition(
        ("57014",),
        "SQL-108",
        "has cancelled a statement",
        "somebody has ended it (pg_cancel_backend), or a limit of that server did; run again",
        retryable=True,
    ),
    Condition(
        ("22021", "22P05"),
        "SQL-110",
        "can't hold a text in the encoding of its database",
        "a target in UTF8 holds whatever a source has: create its database with ENCODING 'UTF8', or leave out what has"
        " such characters (`exclude`, `column_properties`)",
    ),
    Condition(
        ("42P07", "42P06", "42710", "42701", "42723", "42809"),
        "SQL-112",
        "has another object of that name",
        "rename or drop that object, which may be of another kind, and run again; a table may have another name there"
        " (`target_tables`)",
    ),
    Condition(
        ("2BP01",),
        "SQL-114",
        "has objects that depend on what is to go",
        "the text names them: drop them, and run again",
    ),
    Condition(
        ("P0", "38", "39"),
        "SQL-109",
        "has a trigger or a function of its own that refuses a statement",
        "the text names it: let it pass the role of the location, or disable it, and run again",
    ),
)
RAISED = "exec_stmt_raise"
"""This function of the server reports what a function in PL/pgSQL raises, with any SQLSTATE that its author chose."""


def errors() -> Any:
    """Return psycopg's error classes by condition, e.g. `errors().InsufficientPrivilege`."""
    from psycopg import errors as conditions

    return conditions


def explained(error: BaseException) -> DdlReplError | None:
    """Return a driver's error that nobody expected as one that says what to do; None when it is no driver's.

    As `passing`; and ServerRefusal SQL-102: a lock can't be had, SQL-101: a right is missing, those of
    `CONDITIONS`, SQL-100: anything else.
    """
    import psycopg

    if not isinstance(error, psycopg.Error):
        return None
    text, state = " ".join(str(error).split()).partition(" LINE 1: ")[0], error.sqlstate or ""
    if (known := passing(error)) is not None:
        return known
    if state in CONTENTION:
        return ServerRefusal(
            f"a lock was not granted in time{_at(error)}: {text}",
            code="SQL-102",
            hint="a long query or an idle transaction blocks it (pg_stat_activity, pg_blocking_pids); run again",
            retryable=True,
        )
    if state == "42501":
        hint = "grant it to the role of the location, at the source or the target; `ddlrepl doctor` looks for others"
        return ServerRefusal(f"a right is missing{_at(error)}: {text}", code="SQL-101", hint=hint)
    place = server_of(error) or EITHER
    if (refused := refusal(error, place, text)) is not None:
        return refused
    return ServerRefusal(f"{place} refuses: {text}", code="SQL-100", hint="see its log; run again")


class AtServer(Exception):
    """This is the cause of a driver's error: the session's server, `user@host:port/database`, and what it has told.

    is_standby: it is a hot standby. is_read_only: its database or role has transactions read-only.
    """

    def __init__(self, server: str, *, is_standby: bool, is_read_only: bool) -> None:
        super().__init__(server)
        self.server, self.is_standby, self.is_read_only = server, is_standby, is_read_only


_UNKNOWN = AtServer("", is_standby=False, is_read_only=False)


def _origin(error: BaseException) -> AtServer:
    return error.__cause__ if isinstance(error.__cause__, AtServer) else _UNKNOWN


def server_of(error: BaseException) -> str:
    """Return `user@host:port/database` of the session that an error comes from; empty where that is not known."""
    return _origin(error).server


def _at(error: BaseException) -> str:
    return f" at {server}" if (server := server_of(error)) else ""


def passing(error: BaseException, place: str = EITHER) -> DdlReplError | None:
    """Return a driver's error that is the server's trouble, not the statement's, as one of ours; None when it is not.

    Unreachable CON-104: the connection broke; CON-105: the server is read-only. DiskFull DSK-103: its disk is full. Run
    again when the server is well. error: of psycopg or ADBC. place: "the target", where it is known.
    """
    import psycopg

    text, state = " ".join(str(error).split()), getattr(error, "sqlstate", None) or ""
    place = f"{place} ({server})" if (server := server_of(error)) and place != EITHER else server or place
    if state == READ_ONLY:
        known = _origin(error)
        hint = why_read_only(known.is_standby, known.is_read_only)
        return Unreachable(f"{place} is read-only: {text}", code="CON-105", hint=hint, retryable=True)
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


def refusal(error: Any, place: str, text: str) -> ServerRefusal | None:
    """Return the error for a condition that is known; None for another one. error: psycopg's. place: the server."""
    state = "P0001" if error.diag.source_function == RAISED else error.sqlstate or ""
    known = next((one for one in CONDITIONS if state.startswith(one.states)), None)
    if known is None:
        return None
    return ServerRefusal(
        f"{place} {known.what}: {text}",
        missing=missing_object(error),
        code=known.code,
        hint=known.hint,
        retryable=known.retryable,
    )


def missing_object(error: Any) -> str:
    """Return what a server lacks for a statement: a function with the types of its arguments, or a sort and a name.

    Empty where the server does not say that.
    """
    text = (error.diag.message_primary or "") if error.sqlstate in ("42883", "42704", "3F000", "42P01") else ""
    if error.sqlstate == "42883":
        found = _CALL.search(text)
        return found[0] if found else ""
    named = _OBJECT.search(text)
    return f"{named[1]} {named[2]}" if named else ""


def why_read_only(is_standby: bool, is_default: bool) -> str:
    """Return the next step where a server lets nobody write. is_standby, is_default: what it has told the session."""
    if is_standby:
        return (
            "it is a hot standby: let the location name its primary, or several hosts and target_session_attrs=primary"
        )
    if is_default:
        return (
            "default_transaction_read_only is on there: ALTER DATABASE … or ALTER ROLE … RESET"
            " default_transaction_read_only, or ALTER SYSTEM for the whole server, and run again"
        )
    return "it is a hot standby, or default_transaction_read_only is on for its database or role"


def is_about_rows(error: Any) -> bool:
    """Return whether the error is about rows that exist: they break a rule, have no such value, or can't be converted.

    Then the statement may work with other rows.
    """
    import psycopg

    unlike = (psycopg.errors.DatatypeMismatch, psycopg.errors.CannotCoerce)
    return isinstance(error, (psycopg.DataError, psycopg.IntegrityError, *unlike))


def message_of(error: Any) -> str:
    """Return the message of an error: in full when other objects depend on one; else without the values of rows."""
    detail = error.diag.message_detail if (error.sqlstate or "").startswith(("0A", "2B")) else None
    return " ".join([str(error).splitlines()[0], *(detail or "").split()])
