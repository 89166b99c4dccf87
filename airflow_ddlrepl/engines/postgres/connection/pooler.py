"""This module refuses a connection pooler that gives each transaction another session of the server.

What a session of ours sets (how values are read, that triggers rest) would then hold for sessions of applications, and
not for its own next transaction; so would its locks. Nobody would be told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.errors import Unreachable

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

ASK = b"SET application_name = 'ddlrepl'; SELECT pg_catalog.pg_backend_pid()"
"""It sets something: a pooler that keeps a session for whom has changed it mixes none."""

_known: set[str] = set()
"""These are locations of this process whose sessions are their client's alone."""


def refuse_mixing(
    connection: Connection[Any], location: str, place: str, another: Callable[[], Connection[Any]]
) -> None:
    """Raise Unreachable CON-108 where the sessions of a location are not their client's alone.

    A server tells a client the process of its session; a pooler invents one. Then two clients are compared, one of
    which does nothing meanwhile. Each location is asked once. another: opens another session to it.
    """
    if location in _known:
        return
    first = _process(connection)
    if first != connection.info.backend_pid:
        with another() as other:
            is_mixed = _process(other) == first or _process(connection) != first
        if is_mixed:
            connection.close()
            raise Unreachable(
                f"{place} is a connection pooler that gives each transaction another session",
                code="CON-108",
                hint="let the location name the server itself, or a pool whose sessions are their client's alone"
                " (PgBouncer: pool_mode = session)",
            )
    _known.add(location)


def _process(connection: Connection[Any]) -> int:
    cursor = connection.execute(ASK)
    cursor.nextset()
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
