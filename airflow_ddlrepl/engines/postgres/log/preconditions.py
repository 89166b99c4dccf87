"""Is the source fit to be read? Each answer that is no comes as an error with the SQL that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.engines.postgres.log import slots
from airflow_ddlrepl.errors import SourceError

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

OLDEST_VERSION = 150000
AGAIN = "`ddlrepl activate` makes it anew: what was missed comes by a refresh"


def require_server(connection: Connection[Any]) -> None:
    """Raises SourceError SRC-101 (wal_level), SRC-112 (too old), SRC-113 (a standby)."""
    row = connection.execute(
        "SELECT current_setting('wal_level'), current_setting('server_version_num')::int, pg_is_in_recovery(),"
        " current_setting('server_version')"
    ).fetchone()
    assert row is not None
    level, version, standby, spelled = row
    if version < OLDEST_VERSION:
        raise SourceError(
            f"PostgreSQL {spelled} is too old", code="SRC-112", hint="the source must be version 15 or newer"
        )
    if standby:
        raise SourceError("the source is a standby", code="SRC-113", hint="let the location name the primary server")
    if level != "logical":
        raise SourceError(
            f"the source's wal_level is {level}: its log does not have the rows",
            code="SRC-101",
            hint="ALTER SYSTEM SET wal_level = 'logical'; and restart the server",
        )


def require_replication(connection: Connection[Any]) -> None:
    """Raises SourceError SRC-105 when this role may not use slots."""
    row = connection.execute("SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is None or not row[0]:
        raise slots.no_replication(connection)


def require_slot(connection: Connection[Any], name: str) -> slots.Slot:
    """Raises SourceError SRC-102 (missing), SRC-103 (lost), SRC-107 (somebody else's slot of that name)."""
    slot = slots.state(connection, name)
    if slot is None:
        raise SourceError(f"the replication slot {name} is missing", code="SRC-102", hint=AGAIN)
    if not slot.is_ours:
        raise SourceError(
            f"the replication slot {name} is not ours: plugin {slot.plugin or 'none'}, database {slot.database}",
            code="SRC-107",
            hint="give the channel another name in source.slot",
        )
    if slot.invalid:
        raise slots.lost(name, slot.invalid)
    return slot


def require_publication(connection: Connection[Any], name: str, known: int | None) -> None:
    """Raises SourceError SRC-104 (missing), SRC-106 (created again: younger than the slot), SRC-108 (rows missing).

    known: the id of the publication that what was captured came by; None: not known.
    """
    row = connection.execute(
        "SELECT oid, pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot"
        " FROM pg_publication WHERE pubname = %s",
        [name],
    ).fetchone()
    if row is None:
        raise SourceError(
            f"the publication {name} is missing: changes since then can't be read", code="SRC-104", hint=AGAIN
        )
    found, is_complete, via_root = row
    if not is_complete or via_root:
        raise SourceError(
            f"the publication {name} does not publish everything we need",
            code="SRC-108",
            hint=f"ALTER PUBLICATION {quote(name)} SET (publish = 'insert, update, delete, truncate',"
            " publish_via_partition_root = false); and refresh",
        )
    if known is not None and known != found:
        raise SourceError(
            f"the publication {name} was dropped and created again: it is younger than the slot and the log"
            " before it can't be read",
            code="SRC-106",
            hint=AGAIN,
        )


def publication_id(connection: Connection[Any], name: str) -> int | None:
    """Another one when the publication is made again."""
    row = connection.execute("SELECT oid FROM pg_publication WHERE pubname = %s", [name]).fetchone()
    return int(row[0]) if row else None
