"""This module checks that the source's log can be read without loss.

Each failure is an error with the SQL that mends it.
A run asks before it reads, and every task that reads asks again, over its own driver: the answers are the same.
"""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connection.first_row import Ask
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.log import slots
from airflow_ddlrepl.errors import PublicationReplaced, SourceError
from airflow_ddlrepl.model.position import Position

OLDEST_VERSION = 150000
AGAIN = (
    "`ddlrepl activate` creates it again; what was missed is loaded by a refresh. With clients of Streams it says what"
    " to do instead: apply processes load no table that is there"
)


def require_server(ask: Ask) -> None:
    """Raise SourceError unless the server can be a source.

    SRC-101 (wal_level), SRC-112 (too old), SRC-113 (a standby).
    """
    row = ask(
        "SELECT current_setting('wal_level'), current_setting('server_version_num')::int, pg_is_in_recovery(),"
        " current_setting('server_version')"
    )
    assert row is not None
    level, version, standby, spelled = row
    if version < OLDEST_VERSION:
        raise SourceError(
            f"PostgreSQL {spelled} is too old", code="SRC-112", hint="the source must be version 15 or newer"
        )
    if standby:
        raise SourceError("the source is a standby", code="SRC-113", hint="change the location to the primary server")
    if level != "logical":
        raise SourceError(
            f"the source's wal_level is {level}: its log does not contain the rows",
            code="SRC-101",
            hint="ALTER SYSTEM SET wal_level = 'logical'; and restart the server",
        )


def require_replication(ask: Ask) -> None:
    """Raise SourceError SRC-105 unless this role may use replication slots."""
    row = ask("SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user")
    if row is None or not row[0]:
        raise slots.no_replication(ask)


def require_slot(ask: Ask, name: str, at: Position | None = None) -> slots.Slot:
    """Return the slot of that name, if it can be read.

    at: the position to read from, if it is known already. Raises SourceError SRC-102 (missing), SRC-103 (lost),
    SRC-107 (somebody else's slot of that name), SRC-141 (it has left the position behind).
    """
    slot = slots.find(ask, name)
    if slot is None:
        raise slot_missing(name, at)
    if not slot.is_ours:
        raise SourceError(
            f"the replication slot {name} was not created by ddlrepl: plugin {slot.plugin or 'none'}, database"
            f" {slot.database}",
            code="SRC-107",
            hint="give the channel another name in source.slot",
        )
    if slot.invalid:
        raise slots.lost(name, slot.invalid, at)
    if at is not None and slot.confirmed > at:
        raise slot_ahead(name, slot.confirmed, at)
    return slot


def slot_ahead(name: str, confirmed: Position, at: Position) -> SourceError:
    """Return SourceError SRC-141: the slot has moved on, past what is to be read."""
    return SourceError(
        f"the replication slot {name} is at {confirmed}: what committed before it can't be read",
        code="SRC-141",
        at=at,
        hint=f"another process read it or created it again. {AGAIN}",
    )


def slot_missing(name: str, at: Position | None = None) -> SourceError:
    """Return SourceError SRC-102: there is no slot of that name."""
    return SourceError(f"the replication slot {name} is missing", code="SRC-102", at=at, hint=AGAIN)


def require_publication(ask: Ask, name: str, known: int | None = None, at: Position | None = None) -> None:
    """Raise SourceError unless the publication of that name exists and publishes all that the channel needs.

    SRC-104 (missing), SRC-106 (created again: younger than the slot), SRC-108 (rows missing).
    known: the id of the publication that what was captured came by; None: not known. at: the position to read from.
    """
    row = ask(
        "SELECT oid::bigint, pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot"
        f" FROM pg_catalog.pg_publication WHERE pubname = {literal(name)}"
    )
    if row is None:
        raise publication_missing(name, at)
    found, is_complete, via_root = row
    if not is_complete or via_root:
        raise SourceError(
            f"the publication {name} does not publish everything that the channel needs",
            code="SRC-108",
            at=at,
            hint=f"ALTER PUBLICATION {quote(name)} SET (publish = 'insert, update, delete, truncate',"
            " publish_via_partition_root = false); and refresh",
        )
    if known is not None and known != found:
        raise PublicationReplaced(
            f"the publication {name} was dropped and created again: it is younger than the slot and the log"
            " before it can't be read",
            code="SRC-106",
            at=at,
            hint=AGAIN,
        )


def publication_missing(name: str, at: Position | None = None) -> SourceError:
    """Return SourceError SRC-104: there is no publication of that name."""
    return SourceError(
        f"the publication {name} is missing: changes since then can't be read", code="SRC-104", at=at, hint=AGAIN
    )


def publication_id(ask: Ask, name: str) -> int | None:
    """Return the publication's id, which changes when it is created again; None when there is none."""
    row = ask(f"SELECT oid::bigint FROM pg_catalog.pg_publication WHERE pubname = {literal(name)}")
    return int(row[0]) if row else None
