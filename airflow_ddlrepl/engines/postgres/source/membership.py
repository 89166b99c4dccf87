"""This module brings tables into a channel's publication, where no event trigger has done it.

New tables join, replica identities are mended, and what was left out is published as soon as it can be.
A capture does it: a few tables in a transaction, each in one of its own where it has to wait, so that no lock is there
for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.postgres.catalog.inspect import undecodable
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import is_raw
from airflow_ddlrepl.engines.postgres.catalog.sizes import LOCK_TIMEOUT
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.source.member_cause import CAUSE, LATE, Cause, set_reason
from airflow_ddlrepl.model.names import TableName

BATCH = 25
"""As many tables are maintained in one transaction."""

NO_PATIENCE = "5ms"
_IS_HELD = f"(reason IS NOT NULL AND {CAUSE} = '{Cause.LOCK}')"
_HELD = f"""
SELECT table_id::bigint FROM ddlrepl.member m WHERE channel = %s AND table_id = ANY(%s::oid[]) AND {_IS_HELD}
"""
_TEND_MANY = """
SELECT i::bigint, ddlrepl.tend(%s, i::oid) FROM unnest(%s::bigint[]) WITH ORDINALITY AS t(i, place) ORDER BY place
"""
_IS_LATE = f"(reason IS NOT NULL AND {CAUSE} = '{Cause.LATE}')"
# one look at the publication for all of them
IS_MISSING = """
state = 'published' AND (channel, table_id) NOT IN (
    SELECT c.name, r.prrelid FROM pg_publication_rel r
    JOIN pg_publication p ON p.oid = r.prpubid
    JOIN ddlrepl.channel c ON c.publication = p.pubname
    WHERE r.prqual IS NULL AND (r.prattrs IS NULL OR NOT EXISTS (
        SELECT FROM pg_attribute a WHERE a.attrelid = r.prrelid AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attgenerated = '' AND a.attnum <> ALL (r.prattrs))))
"""
# nobody told us: the statement that made it logged fired no event trigger
_IS_LOGGED_AGAIN = f"""
state = 'left out' AND {CAUSE} = '{Cause.UNLOGGED}'
AND table_id IN (SELECT oid FROM pg_class WHERE relpersistence = 'p')
"""
_WAITS = f"({_IS_HELD} OR {IS_MISSING} OR {_IS_LOGGED_AGAIN})"
_CAUSES = f"SELECT table_id::bigint, {CAUSE} FROM ddlrepl.member m WHERE channel = %s AND state <> 'bystander'"
_WAITING = f"SELECT table_id::bigint FROM ddlrepl.member m WHERE channel = %s AND {_WAITS}"

_NEGLECTED = Path(__file__).with_name("membership.sql").read_text()


def maintain(connection: Connection[Any], channel: str) -> dict[int, str]:
    """Bring every table into its right state that no event trigger has brought there; return what was done, by id.

    Values as ddlrepl.tend returns them.
    """
    return _tended(connection, channel, _chosen(connection, channel, _NEGLECTED))


def publish_late(connection: Connection[Any], channel: str) -> set[int]:
    """Publish tables that a transaction blocked, or that somebody took out; return the ids of `late`.

    Those whose names can't be decoded since, or can be again, leave and join the publication, too.
    """
    _tended(connection, channel, _chosen(connection, channel, _WAITING))
    _tended(connection, channel, _changed_texts(connection, channel))
    return late(connection, channel)


def _changed_texts(connection: Connection[Any], channel: str) -> list[int]:
    """Return ids of tables that are left out because of names that are UTF-8 now, or published with others.

    Only a database in SQL_ASCII has such.
    """
    if not is_raw(connection):
        return []
    members = {int(i): cause for i, cause in connection.execute(_CAUSES.encode(), [channel])}
    bad = undecodable(connection, list(members))
    return sorted(i for i, cause in members.items() if (cause == Cause.ENCODING) != (i in bad))


def set_up_many(connection: Connection[Any], channel: str, table_ids: Sequence[int]) -> dict[int, str]:
    """Bring tables into their right states in one transaction, which waits for nobody; return what was done, by id.

    No more than BATCH of them, so that no lock is there for long. A table that is missing in the result needs a
    transaction of its own (`tend_one`): another one is in its way, or something has failed.
    """
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{NO_PATIENCE}'".encode())
            found = {int(i): str(state) for i, state in connection.execute(_TEND_MANY, [channel, list(table_ids)])}
            _mark_late(connection, channel, [i for i, state in found.items() if state == "filled"])
            unpublishable = {int(i) for (i,) in connection.execute(_HELD.encode(), [channel, list(table_ids)])}
    except (errors().DatabaseError, errors().InterfaceError):
        return {}
    return {i: state for i, state in found.items() if i not in unpublishable}


def set_up_one(connection: Connection[Any], channel: str, table_id: int) -> str:
    """Bring one table into its right state; return that state.

    Published when it has rows already, it is marked so in the same transaction.
    The mark outlives a run that ends before the table's refresh is asked for.
    """
    with connection.transaction():
        row = connection.execute("SELECT ddlrepl.tend(%s, %s::bigint::oid)", [channel, table_id]).fetchone()
        now = str(row[0]) if row else "gone"
        _mark_late(connection, channel, [table_id] if now == "filled" else [])
    return now


def _mark_late(connection: Connection[Any], channel: str, table_ids: Sequence[int]) -> None:
    """Mark tables that were published when they had rows already."""
    if table_ids:
        assigned, values = set_reason(connection, LATE, Cause.LATE)
        connection.execute(
            f"UPDATE ddlrepl.member SET {assigned} WHERE channel = %s AND table_id = ANY(%s::oid[])".encode(),
            [*values, channel, list(table_ids)],
        )


def is_held(connection: Connection[Any], channel: str, table_id: int) -> bool:
    """Was another transaction in the way when the table was last maintained?"""
    row = connection.execute(
        f"SELECT FROM ddlrepl.member m WHERE channel = %s AND table_id = %s::bigint::oid AND {_IS_HELD}".encode(),
        [channel, table_id],
    ).fetchone()
    return row is not None


def late(connection: Connection[Any], channel: str) -> set[int]:
    """Return ids of tables some of whose rows are not in the log, and whose refresh is not asked for yet."""
    rows = connection.execute(
        f"SELECT table_id::bigint FROM ddlrepl.member m WHERE channel = %s AND {_IS_LATE}".encode(), [channel]
    )
    return {int(i) for (i,) in rows}


def forget_late(connection: Connection[Any], channel: str, table_ids: Iterable[int]) -> None:
    """Remove the mark that tables are late: their refresh is asked for.

    One that somebody is about to alter stays `late`: it is loaded again, and nobody is waited for.
    """
    assigned, values = set_reason(connection, None, None)
    free = (
        f"SELECT channel, table_id FROM ddlrepl.member m WHERE channel = %s AND {_IS_LATE}"
        " AND table_id = ANY(%s::oid[]) FOR UPDATE SKIP LOCKED"
    )
    connection.execute(
        f"UPDATE ddlrepl.member SET {assigned} WHERE (channel, table_id) IN ({free})".encode(),
        [*values, channel, list(table_ids)],
    )


def has_late(connection: Connection[Any], channel: str) -> bool:
    """Is there anything that `publish_late` would do?"""
    row = connection.execute(
        f"SELECT EXISTS (SELECT FROM ddlrepl.member m WHERE channel = %s AND ({_WAITS} OR {_IS_LATE}))".encode(),
        [channel],
    ).fetchone()
    return bool(row and row[0]) or bool(_changed_texts(connection, channel))


def unpublishable(connection: Connection[Any], channel: str) -> list[TableName]:
    """Return the tables that `publish_late` could not publish."""
    rows = connection.execute(
        f"SELECT schema_name, table_name FROM ddlrepl.member m WHERE channel = %s AND"
        f" (state = 'left out' AND {_IS_HELD} OR {IS_MISSING})".encode(),
        [channel],
    )
    return [TableName(schema, name) for schema, name in rows]


def _chosen(connection: Connection[Any], channel: str, query: str) -> list[int]:
    """Return the ids that a query chooses; none without the right."""
    try:
        return [int(i) for (i,) in connection.execute(query.encode(), [channel])]
    except errors().InsufficientPrivilege:
        return []


def _tended(connection: Connection[Any], channel: str, table_ids: Sequence[int]) -> dict[int, str]:
    """Bring tables into their right states; return what was done with each.

    No table is waited for long; none is maintained without the right.
    """
    outcomes: dict[int, str] = {}
    try:
        for place, table_id in enumerate(table_ids):
            if place % BATCH == 0:
                outcomes |= set_up_many(connection, channel, table_ids[place : place + BATCH])
            if table_id not in outcomes:
                with connection.transaction():
                    connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
                    outcomes[table_id] = set_up_one(connection, channel, table_id)
    except errors().InsufficientPrivilege:
        pass
    return outcomes
