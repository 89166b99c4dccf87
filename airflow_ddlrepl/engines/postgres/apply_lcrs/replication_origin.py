"""A session's replication origin is the tag of its changes: a capture of the target tells them from others by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.errors import ApplyError

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

_MAY_HAVE_ORIGIN = """
SELECT bool_and(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc
WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ('pg_replication_origin_create',
    'pg_replication_origin_oid', 'pg_replication_origin_session_setup', 'pg_replication_origin_session_reset')
"""


class NoFreeOrigin(ApplyError):
    """This error says that a server has no replication origin left for a session (APL-121)."""


@contextmanager
def origin_set_up(connection: Connection[Any], name: str) -> Iterator[None]:
    """Let the session's transactions carry a replication origin, where its role may set one up.

    Raises NoFreeOrigin where the server has none: changes without a tag could come back to their source.
    """
    import psycopg

    row = connection.execute(_MAY_HAVE_ORIGIN.encode()).fetchone()
    if row is None or not row[0]:
        yield
        return
    try:
        with suppress(psycopg.errors.DuplicateObject):
            if connection.execute("SELECT pg_replication_origin_oid(%s)", [name]).fetchone() == (None,):
                connection.execute("SELECT pg_replication_origin_create(%s)", [name])
        connection.execute("SELECT pg_replication_origin_session_setup(%s)", [name])
    except (psycopg.errors.ConfigurationLimitExceeded, psycopg.errors.ObjectNotInPrerequisiteState) as error:
        raise _no_free_origin(connection, str(error).splitlines()[0]) from None
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_replication_origin_session_reset()")


def _no_free_origin(connection: Connection[Any], why: str) -> NoFreeOrigin:
    setting = "max_active_replication_origins"
    if connection.info.server_version < 180000:
        setting = "max_replication_slots"
    return NoFreeOrigin(
        f"the server has no replication origin left to tag changes with: {why}",
        code="APL-121",
        hint=f"raise {setting} there and restart the server: each session of an apply process needs an origin; or free"
        " one that nobody uses: pg_replication_origin_status has them, pg_replication_origin_drop removes one",
        retryable=True,
    )
