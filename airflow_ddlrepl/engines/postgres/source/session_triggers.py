"""This module checks the triggers that write an ignored session's application name and role into the log.

`ddlrepl.tend` makes one for each table of a channel that ignores sessions by them (`known_by: triggers`). The trigger
runs once for each statement, and its condition is false for all other sessions: they pay for the condition alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from airflow_ddlrepl.config.sections.ignored_sessions import IgnoredSessions
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.source.scope_patterns import regex
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.installation import SessionNames
from airflow_ddlrepl.model.names import TableName

STEM = "ddlrepl_session_"
_VERSIONS = """
SELECT m.table_id::bigint, n.nspname, c.relname, coalesce(t.oid || '/' || t.xmin, '') FROM ddlrepl.member m
JOIN pg_class c ON c.oid = m.table_id JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_trigger t ON t.tgrelid = m.table_id AND t.tgname = %s AND t.tgenabled = 'A' AND t.tgargs = %s
    AND t.tgtype = 62 AND t.tgattr = '' AND t.tgfoid = (
        SELECT p.oid FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
        WHERE s.nspname = 'ddlrepl' AND p.proname = 'name_session' AND p.pronargs = 0)
WHERE m.channel = %s AND m.state IN ('published', 'tracked')
ORDER BY 2, 3
"""
_CAN_AGAIN = "SELECT to_regprocedure('ddlrepl.name_sessions_again(text, oid)') IS NOT NULL"
_UNSIGNED = """
SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'ddlrepl' AND p.proname = 'name_session' AND p.prosrc !~ 'ddlrepl\\.signed'
"""


def condition(sessions: IgnoredSessions) -> str | None:
    """Return the SQL condition that is true in the sessions that triggers name; None: there are no triggers."""
    if not sessions.has_triggers:
        return None
    asked = {"current_setting('application_name')": sessions.names, "session_user::text": sessions.roles}
    return " OR ".join(f"{what} ~ {literal(regex(one))}" for what, patterns in asked.items() for one in patterns)


def missing(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> dict[int, TableName]:
    """Return the tables, by id, that lack the channel's trigger, or have it disabled or with another condition."""
    rows = _rows(connection, channel, sessions)
    return {int(table_id): TableName(schema, name) for table_id, schema, name, version in rows if not version}


def session_names(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> SessionNames | None:
    """Return the triggers as they are now; None: the channel has none."""
    wanted = condition(sessions)
    if wanted is None:
        return None
    rows = _rows(connection, channel, sessions)
    return SessionNames(_digest(wanted), {int(table_id): version for table_id, _, _, version in rows})


def _rows(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> list[tuple[Any, ...]]:
    wanted = condition(sessions)
    if wanted is None:
        return []
    digest = _digest(wanted).encode() + b"\0"
    return connection.execute(_VERSIONS, [STEM + channel, digest, channel]).fetchall()


def _digest(wanted: str) -> str:
    return hashlib.md5(wanted.encode(), usedforsecurity=False).hexdigest()


def due(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> list[int]:
    """Return ids of the tables that lack the channel's trigger, or have one although it ignores no session by them."""
    if sessions.has_triggers:
        return list(missing(connection, channel, sessions))
    rows = connection.execute("SELECT tgrelid::bigint FROM pg_catalog.pg_trigger WHERE tgname = %s", [STEM + channel])
    return [int(table_id) for (table_id,) in rows]


def make(
    connection: Connection[Any], channel: str, sessions: IgnoredSessions, again: Collection[int] = ()
) -> list[TableName]:
    """Make the triggers that are missing; return the tables for which that was not possible now.

    again: ids of tables whose triggers somebody may have changed. No application waits long behind it: a table that
    others write to may have to wait for the next call. Raises SourceError SRC-122 where the function that they call is
    an earlier version's, which no capture believes.
    """
    if sessions.has_triggers and sessions.roles and connection.execute(_UNSIGNED).fetchone() is not None:
        raise SourceError(
            "the function that names the roles to ignore is an earlier version's, and does not sign them",
            code="SRC-122",
            hint="`ddlrepl activate` as the role that activated; no table is loaded again",
        )
    can_again = connection.execute(_CAN_AGAIN).fetchone() == (True,)
    for table_id in {*missing(connection, channel, sessions), *again}:
        called = "name_sessions_again" if table_id in again and can_again else "name_sessions"
        with suppress(errors().InsufficientPrivilege, errors().LockNotAvailable), connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', '500ms', true)")
            connection.execute(f"SELECT ddlrepl.{called}(%s, %s::bigint::oid)".encode(), [channel, table_id])
    return list(missing(connection, channel, sessions).values())


def require_all(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> None:
    """Raise SourceError SRC-122 where a table has no trigger: the rows of ignored sessions would be captured."""
    try:
        lacking = [str(name) for name in missing(connection, channel, sessions).values()]
    except (errors().UndefinedTable, errors().InsufficientPrivilege):
        lacking = ["the channel's tables"]  # an administrator has made the publication, and there is no helper schema
    if lacking:
        raise SourceError(
            f"no trigger names the sessions to ignore on {', '.join(lacking)}",
            code="SRC-122",
            hint="`ddlrepl activate --no-refresh` as the tables' owner or a superuser; or set `known_by: messages`, and"
            " let the sessions write their name into the log themselves",
        )
