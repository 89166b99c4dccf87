"""This module stores at a target as of which transactions a table has its source's rows: a load mark.

PostgreSQL never changes a version of a row: an UPDATE writes another one, with the number of its transaction. So where
both tables have versions that the load has seen, the row is equal on both sides; every other version is of a
transaction that a mark calls later. Only a schema change gives an old version other values, so a mark has the layout of
its table; and only a server that starts again can be one whose past was exchanged (a fail-over, a storage that was set
back), so a mark holds until then.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.engines.postgres.log.timeline import TIMELINE
from airflow_ddlrepl.engines.postgres.target.channel_table import ChannelTable
from airflow_ddlrepl.model.names import TableName

log = logging.getLogger("ddlrepl")
TABLE = "loads"
CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.loads (
    channel text NOT NULL, table_id bigint NOT NULL, source text NOT NULL, target text NOT NULL,
    PRIMARY KEY (channel, table_id));
"""
STORED = ChannelTable(TABLE, CREATE, "target")
_PUT = """
INSERT INTO ddlrepl.loads (channel, table_id, source, target) VALUES (%s, %s, %s, %s)
ON CONFLICT (channel, table_id) DO UPDATE SET source = excluded.source, target = excluded.target
"""
_LAYOUT = """
SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', attnum, attname, atttypid::bigint, atttypmod, attisdropped,
    attgenerated, attcollation::bigint, atthasmissing, attmissingval::text), e'\\n' ORDER BY attnum)
FROM pg_catalog.pg_attribute WHERE attrelid = c.oid AND attnum > 0
"""
_SERVER = f"""
pg_catalog.concat_ws('/', {TIMELINE}, (SELECT system_identifier FROM pg_catalog.pg_control_system()),
    (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()),
    (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint)
"""
_MARK = f"""
SELECT {_SERVER}, c.oid::bigint, ({_LAYOUT}), pg_catalog.pg_snapshot_xmin(s)::text::bigint,
    pg_catalog.pg_snapshot_xmax(s)::text::bigint
FROM pg_catalog.pg_current_snapshot() s, pg_catalog.pg_class c
JOIN pg_catalog.pg_am a ON a.oid = c.relam AND a.amname = 'heap'
WHERE c.oid = pg_catalog.to_regclass({{}}) AND NOT pg_catalog.pg_is_in_recovery()
"""
_FLUSHED = """
SELECT pg_catalog.pg_current_wal_flush_lsn() >= %s::pg_lsn,
    3 * setting::float8 / 1000 FROM pg_catalog.pg_settings WHERE name = 'wal_writer_delay'
"""
_EPOCH = 1 << 32


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark says which versions of a table's rows a snapshot may not have seen.

    server: its timeline, its identifier, the database's oid, and when the server started. table: the table's oid.
    layout: of its columns, as text. oldest: those of transactions from this number on. newest: no transaction from this
    number on has begun.
    """

    server: str
    table: int
    layout: str
    oldest: int
    newest: int

    def text(self) -> str:
        """Return the mark as a text to store."""
        return json.dumps(asdict(self))

    def later(self, now: Mark) -> str | None:
        """Return SQL that is true for each version of a row that this mark does not answer for; None: it is any.

        now: the mark of a later snapshot. Older versions may be among them. Transactions are told apart by 32 bits of
        their numbers: where these began again at 0 meanwhile, the mark is too old.
        """
        same = (self.server, self.table, self.layout) == (now.server, now.table, now.layout)
        if not same or self.oldest // _EPOCH != now.newest // _EPOCH:
            return None
        return f"pg_catalog.xidsend(xmin) OPERATOR(pg_catalog.>=) '\\x{self.oldest % _EPOCH:08x}'::pg_catalog.bytea"


def mark(connection: Any, table: TableName) -> Mark | None:
    """Return the mark of a table as the session's snapshot shows it.

    None where there is no such table, for a standby, and for rows that are not stored as PostgreSQL's own are.
    """
    row = connection.execute(_MARK.format(literal(qualified(table))).encode()).fetchone()
    return Mark(*row) if row is not None else None


def durable_mark(connection: Any, table: TableName, since: float) -> Mark | None:
    """Return the mark of a table in an open snapshot; None where a crash could still undo what that has seen.

    since: by the monotonic clock, when the snapshot was open already. A commit that did not wait for its log to be
    written is in it after three times `wal_writer_delay`.
    """
    found = mark(connection, table)
    if found is None:
        return None
    (end,) = connection.execute("SELECT pg_catalog.pg_current_wal_insert_lsn()::text").fetchone()
    is_written, most = connection.execute(_FLUSHED, [end]).fetchone()
    return found if is_written or time.monotonic() - since > most else None


def store(cursor: Any, channel: str, table_id: int, place: TableName, source: str) -> None:
    """Store that a table has just been loaded, in the transaction that puts it in its place.

    source: the text of the mark of the source's table, and how columns belong together (`origin_text`); empty: no mark.
    """
    found = _mark_if_allowed(cursor.connection, place) if source else None
    if found is not None:
        STORED.ensure(cursor)
        cursor.execute(_PUT, [channel, table_id, source, found.text()])
    else:
        remove(cursor, channel, [table_id])


def remove(cursor: Any, channel: str, table_ids: Sequence[int]) -> None:
    """Remove the marks of these tables, in the open transaction."""
    if STORED.is_there(cursor.connection):
        cursor.execute(
            "DELETE FROM ddlrepl.loads WHERE channel = %s AND table_id = ANY (%s)", [channel, list(table_ids)]
        )


def _mark_if_allowed(connection: Any, table: TableName) -> Mark | None:
    """Return the mark of a table; None where the server refuses to answer, and the transaction goes on."""
    import psycopg

    try:
        with connection.transaction():
            return mark(connection, table)
    except psycopg.Error as error:
        if passing(error, "the target") is not None:
            raise
        log.info("%s: a later refresh hashes all rows: %s", table, " ".join(str(error).split()))
        return None


def origin_text(source: Mark, columns: Sequence[tuple[str, str]]) -> str:
    """Return the text to store of a source's table. columns: names at the source, each with the target's."""
    return json.dumps([asdict(source), [list(pair) for pair in columns]])


def stored_marks(
    connection: Any, channel: str, table_id: int, columns: Sequence[tuple[str, str]]
) -> tuple[Mark, Mark] | None:
    """Return the marks of the source's and the target's table as of the last load; None: there are none.

    columns: as in `origin_text`, now.
    """
    if not STORED.is_there(connection):
        return None
    query = "SELECT source, target FROM ddlrepl.loads WHERE channel = %s AND table_id = %s"
    row = connection.execute(query, [channel, table_id]).fetchone()
    if row is None:
        return None
    (source, pairs), target = json.loads(row[0]), json.loads(row[1])
    return (Mark(**source), Mark(**target)) if pairs == [list(pair) for pair in columns] else None
