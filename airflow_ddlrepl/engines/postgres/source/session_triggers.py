"""This module checks the triggers that write an ignored session's application name and role into the log.

`ddlrepl.tend` makes one for each table of a channel that ignores sessions by them (`known_by: triggers`). The trigger
runs once for each statement, and its condition is false for all other sessions: they pay for the condition alone.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.config.sections.ignored_sessions import IgnoredSessions
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.source.scope_patterns import regex
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

STEM = "ddlrepl_session_"
_MISSING = """
SELECT m.table_id::bigint, n.nspname, c.relname FROM ddlrepl.member m
JOIN pg_class c ON c.oid = m.table_id JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE m.channel = %s AND m.state IN ('published', 'tracked') AND NOT EXISTS (
    SELECT FROM pg_trigger t WHERE t.tgrelid = m.table_id AND t.tgname = %s AND t.tgenabled = 'A' AND t.tgargs = %s)
ORDER BY 2, 3
"""
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
    wanted = condition(sessions)
    if wanted is None:
        return {}
    digest = hashlib.md5(wanted.encode(), usedforsecurity=False).hexdigest().encode() + b"\0"
    rows = connection.execute(_MISSING, [channel, STEM + channel, digest]).fetchall()
    return {int(table_id): TableName(schema, name) for table_id, schema, name in rows}


def make(connection: Connection[Any], channel: str, sessions: IgnoredSessions) -> list[TableName]:
    """Make the triggers that are missing; return the tables for which that was not possible now.

    No application waits long behind it: a table that others write to may have to wait for the next call. Raises
    SourceError SRC-122 where the function that they call is an earlier version's, which no capture believes.
    """
    if sessions.has_triggers and sessions.roles and connection.execute(_UNSIGNED).fetchone() is not None:
        raise SourceError(
            "the function that names the roles to ignore is an earlier version's, and does not sign them",
            code="SRC-122",
            hint="`ddlrepl activate` as the role that activated; no table is loaded again",
        )
    for table_id in missing(connection, channel, sessions):
        with suppress(errors().InsufficientPrivilege, errors().LockNotAvailable), connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', '500ms', true)")
            connection.execute("SELECT ddlrepl.name_sessions(%s, %s::bigint::oid)", [channel, table_id])
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
