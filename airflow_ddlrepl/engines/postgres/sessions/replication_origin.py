"""A session's replication origin is the tag of its changes: a capture of the target tells them from others by it.

An origin takes one of the few places that a server has for them, and one session at a time has it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.lock_retry import limit
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.installation import Problem

log = logging.getLogger("ddlrepl")
AT_A_TIME = 32
"""So many sessions of a channel are marked in one database at a time."""
UNMARKED = "its changes carry no replication origin: who captures this database takes them for an application's ({})"
_UNTIMED = "all transactions of a session of it have the session's beginning as their time of commit in the log"
_SIGNATURES = (
    "pg_replication_origin_create(text)",
    "pg_replication_origin_oid(text)",
    "pg_replication_origin_session_setup(text)",
    "pg_replication_origin_session_reset()",
    "pg_replication_origin_xact_setup(pg_lsn, timestamptz)",
)
_FACTS = """
SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FILTER (WHERE proname <> 'pg_replication_origin_xact_setup'),
    bool_and(has_function_privilege(oid, 'EXECUTE')) FILTER (WHERE proname = 'pg_replication_origin_xact_setup'),
    EXISTS (SELECT FROM pg_publication) OR EXISTS (
        SELECT FROM pg_replication_slots WHERE slot_type = 'logical' AND database = current_database()),
    ARRAY(SELECT roname FROM pg_replication_origin WHERE roname = %(name)s OR starts_with(roname, %(name)s || '#'))
FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ('pg_replication_origin_create',
    'pg_replication_origin_oid', 'pg_replication_origin_session_setup', 'pg_replication_origin_session_reset',
    'pg_replication_origin_xact_setup')
"""
_DROP = """
SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin
WHERE roname = %(name)s OR starts_with(roname, %(name)s || '#')
"""
_HERE = """
SELECT roname FROM pg_replication_origin WHERE starts_with(roname, 'ddlrepl ')
    AND right(roname, length(current_database()) + 1) = ' ' || current_database() ORDER BY roname
"""
_STAMP = "SELECT pg_replication_origin_xact_setup('0/0', clock_timestamp())"


class NoFreeOrigin(ApplyError):
    """This error says that a server has no replication origin left for a session (APL-121)."""


class _Facts(NamedTuple):
    """may: set origins up. stamps: say when a transaction was committed. is_captured: somebody reads the log."""

    may: bool
    stamps: bool
    is_captured: bool
    names: list[str]


@dataclass
class Origin:
    """An origin of a session, or none.

    name: empty: none. stamps: whether `stamp` can say the time. why_not: why the session has none although somebody
    may look for it.
    """

    connection: Connection[Any]
    name: str = ""
    stamps: bool = False
    why_not: str = ""

    def stamp(self) -> None:
        """Give the open transaction its time of commit; without it the log has that of the session's beginning.

        The server keeps none of its own for transactions with an origin.
        """
        if self.stamps:
            self.connection.execute(_STAMP)


def origin_name(channel: str, database: str, number: int = 1) -> str:
    """Return the name of a replication origin of what a channel changes in a database.

    number: of the session. Origins are the server's, and one session at a time has one.
    """
    return f"ddlrepl {channel} {database}{'' if number == 1 else f'#{number}'}"


def drop_origins(connection: Connection[Any], channel: str) -> None:
    """Remove a channel's replication origins of this database, where the role may."""
    import psycopg

    in_use = psycopg.errors.ObjectInUse  # by a session that ends
    with suppress(psycopg.errors.InsufficientPrivilege, in_use), connection.transaction():
        connection.execute(_DROP, {"name": origin_name(channel, connection.info.dbname)})


def missing_rights(connection: Connection[Any], channel: str) -> list[Problem]:
    """Return what the session's role lacks to mark its changes where somebody reads the log."""
    facts = _facts(connection, channel)
    if not facts.is_captured or (facts.may and facts.stamps):
        return []
    role = quote(connection.info.user)
    what = UNMARKED.format("a right is missing") if not facts.may else _UNTIMED
    grant = "; ".join(f"GRANT EXECUTE ON FUNCTION pg_catalog.{one} TO {role}" for one in _SIGNATURES)
    return [Problem(what, f"{grant};")]


def writing_origins(connection: Connection[Any]) -> list[str]:
    """Return the replication origins of channels that write into this database, one of each channel."""
    return [name for (name,) in connection.execute(_HERE).fetchall()]


@contextmanager
def origin_set_up(connection: Connection[Any], channel: str, number: int) -> Iterator[Origin]:
    """Let the session's transactions carry the channel's origin of this number, where its role may set one up.

    Raises NoFreeOrigin where the server has none: changes without a tag could come back to their source.
    """
    facts = _facts(connection, channel)
    with _session_origin(_taken(connection, channel, number, facts) if facts.may else Origin(connection)) as origin:
        yield origin


@contextmanager
def marked(connection: Connection[Any], channel: str) -> Iterator[Origin]:
    """Let what the session writes carry one of the channel's origins, where its role may and somebody reads the log.

    Where nobody captures this database, it costs none of the server's places for origins. Where none is left, the
    session goes on without one, and `why_not` says so.
    """
    facts = _facts(connection, channel)
    with _session_origin(_first_free(connection, channel, facts)) as origin:
        yield origin


@contextmanager
def marked_session(location: str, channel: str, lock_timeout: float, name: str) -> Iterator[Origin]:
    """Open a session of this name that changes tables, and let what it writes be `marked`.

    lock_timeout: seconds that a statement waits for a lock.
    """
    with session(location, application_name=name) as connection:
        limit(connection, lock_timeout)
        with marked(connection, channel) as origin:
            if origin.why_not:
                log.warning("%s", UNMARKED.format(origin.why_not))
            yield origin


def _facts(connection: Connection[Any], channel: str) -> _Facts:
    row = connection.execute(_FACTS.encode(), {"name": origin_name(channel, connection.info.dbname)}).fetchone()
    return _Facts(*row) if row is not None else _Facts(False, False, False, [])


def _first_free(connection: Connection[Any], channel: str, facts: _Facts) -> Origin:
    import psycopg

    if not (facts.may and facts.is_captured):
        return Origin(connection)
    for number in range(1, AT_A_TIME + 1):
        try:
            return _taken(connection, channel, number, facts)
        except psycopg.errors.ObjectInUse:
            continue
        except NoFreeOrigin as error:
            return Origin(connection, why_not=f"{error.message}; {error.hint}")
    return Origin(connection, why_not=f"{AT_A_TIME} sessions of the channel have an origin already")


def _taken(connection: Connection[Any], channel: str, number: int, facts: _Facts) -> Origin:
    """Give the session the origin of this number. Raises NoFreeOrigin, or ObjectInUse where another session has it."""
    import psycopg

    name = origin_name(channel, connection.info.dbname, number)
    try:
        if name not in facts.names:
            with suppress(psycopg.errors.DuplicateObject):
                connection.execute("SELECT pg_replication_origin_create(%s)", [name])
        if not facts.stamps:  # the time of the last transaction before is that of all with the origin
            connection.execute("SELECT txid_current()")
        connection.execute("SELECT pg_replication_origin_session_setup(%s)", [name])
    except (psycopg.errors.ConfigurationLimitExceeded, psycopg.errors.ObjectNotInPrerequisiteState) as error:
        raise _no_free_origin(connection, str(error).splitlines()[0]) from None
    origin = Origin(connection, name, stamps=facts.stamps)
    origin.stamp()
    return origin


@contextmanager
def _session_origin(origin: Origin) -> Iterator[Origin]:
    import psycopg

    try:
        yield origin
    finally:
        if origin.name:
            with suppress(psycopg.Error):
                origin.connection.execute("SELECT pg_replication_origin_session_reset()")


def _no_free_origin(connection: Connection[Any], why: str) -> NoFreeOrigin:
    setting = "max_active_replication_origins"
    if connection.info.server_version < 180000:
        setting = "max_replication_slots"
    return NoFreeOrigin(
        f"the server has no replication origin left to tag changes with: {why}",
        code="APL-121",
        hint=f"raise {setting} there and restart the server: each session that writes at a target whose log is captured"
        " needs an origin; or free one that nobody uses: pg_replication_origin_status has them,"
        " pg_replication_origin_drop removes one",
        retryable=True,
    )
