"""This module defines the log that a channel's slot reads: where it ends, whether it has changes for the channel."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions, replication_protocol, slots
from airflow_ddlrepl.engines.postgres.pgoutput.gaps import NEWS, is_taken_sql
from airflow_ddlrepl.engines.source import log_ends_before
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.oldest_commit import OldestCommit

log = logging.getLogger("ddlrepl")

HEARTBEAT_PREFIX = "ddlrepl.heartbeat"
FLUSH_WAIT_SECONDS = 0.02
NEWS_PEEK_BYTES = 64 << 20
FIRST_CHANGES = 10_000
"""So many messages of a longer part of the log are looked at for its oldest commit."""
ASKING = "2s"
# All but Begin, Commit, Origin, and messages that no client takes.
_IS_NEWS = f"(get_byte(data, 0) NOT IN (66, 67, 79) AND (get_byte(data, 0) <> 77 OR {is_taken_sql('data', NEWS)}))"
_OLDEST = f"""
WITH log AS MATERIALIZED (
    SELECT xid, data, get_byte(data, 0) = 66 AS is_begin, {_IS_NEWS} AS is_news
    FROM pg_logical_slot_peek_binary_changes(%(slot)s, %(high)s::pg_lsn, %(most)s,
        'proto_version', '1', 'publication_names', %(names)s, 'messages', 'true'))
SELECT min(timestamptz '2000-01-01 00:00:00+00'
    + ('x' || encode(substr(b.data, 10, 8), 'hex'))::bit(64)::bigint * interval '1 microsecond')
FROM log b WHERE b.is_begin AND ('x' || encode(substr(b.data, 2, 8), 'hex'))::bit(64)::bigint >= %(low)s
    AND b.xid IN (SELECT n.xid FROM log n WHERE n.is_news)
"""
PEEK = "pg_catalog.pg_logical_slot_peek_binary_changes(name, pg_lsn, int, text[])"


@dataclass(frozen=True, slots=True)
class SlotLog:
    """A slot's log is the log as read by one slot and filtered by one publication.

    connection: in autocommit mode, to the same database as `dsn`.
    """

    connection: Connection[Any]
    dsn: str = field(repr=False)
    slot: str
    publication: str

    def end(self) -> Position:
        """Return the position where the log on disk ends."""
        return self._lsn("SELECT pg_current_wal_flush_lsn()::text")

    def stable_end(self) -> Position:
        """Return a position, readable at once, that lies after every transaction committed before this call.

        It is between two log records, and the log before it is on disk, also what asynchronous commits
        wrote: a range that ends there never misses a commit whose record was only half written.
        """
        inserted = self._lsn("SELECT pg_current_wal_insert_lsn()::text")
        if self.end() < inserted:
            time.sleep(FLUSH_WAIT_SECONDS)
        if self.end() < inserted:
            with self.connection.transaction():
                self.connection.execute("SET LOCAL synchronous_commit = local")
                self.connection.execute("SELECT pg_logical_emit_message(true, %s, '')", [HEARTBEAT_PREFIX])
        return inserted

    def position(self) -> Position:
        """Return the slot's position: nothing before it can be read any more."""
        return preconditions.require_slot(over(self.connection), self.slot).confirmed

    def has_changes(self, low: Position, high: Position) -> bool:
        """Did a transaction with something for this channel commit in [low, high)?

        Says yes without looking when there is much log: reading it once is what capture does anyway.
        Heartbeats are no news, nor are messages that no client takes. What commits before `low` is, while the slot has
        not been advanced past it.
        So is a slot that somebody else reads now: whoever reads the log waits for it, or takes a copy.
        """
        if high <= low:
            return False
        if high - low > NEWS_PEEK_BYTES or not self._may_peek():
            return True
        try:
            with slots.explain_lost_slot(self.connection, self.slot):
                row = self.connection.execute(
                    "SELECT FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL,"
                    " 'proto_version', '1', 'publication_names', %s, 'messages', 'true')"
                    f" WHERE {_IS_NEWS} LIMIT 1",
                    [self.slot, str(high), self._publication_list()],
                ).fetchone()
        except (errors().ObjectInUse, errors().CharacterNotInRepertoire):  # a change with bytes that are no UTF-8
            return True
        except (errors().ProgramLimitExceeded, errors().InternalError_, errors().OutOfMemory):
            return True  # there is a change that the server can't send
        return row is not None

    def oldest_commit(self, low: Position, high: Position) -> OldestCommit:
        """Return when the oldest transaction with something for this channel committed in [low, high).

        Not known where that takes longer than ASKING, or somebody else reads the slot now.
        """
        if high <= low:
            return OldestCommit()
        if not self._may_peek():
            return OldestCommit(is_known=False)
        most = None if high - low <= NEWS_PEEK_BYTES else FIRST_CHANGES
        given = {"slot": self.slot, "high": str(high), "most": most, "names": self._publication_list(), "low": int(low)}
        try:
            with self.connection.transaction():
                self.connection.execute(f"SET LOCAL statement_timeout = '{ASKING}'".encode())
                row = self.connection.execute(_OLDEST.encode(), given).fetchone()
        except errors().DatabaseError:  # of the change that it can't send, or of the slot: the next capture says it
            return OldestCommit(is_known=False)
        oldest = row[0] if row is not None else None
        return OldestCommit(oldest, is_known=most is None or oldest is not None)

    def wait_for_standbys(self, high: Position) -> None:
        """Wait until the standbys in synchronized_standby_slots have the log.

        Readers of a copy of the slot don't wait for them, and one of the slot itself can't be interrupted meanwhile.
        """
        row = self.connection.execute("SELECT current_setting('synchronized_standby_slots', true)").fetchone()
        if row is not None and row[0]:
            bad_text = suppress(errors().CharacterNotInRepertoire)  # of a change: the standbys have it by then
            with bad_text, slots.explain_lost_slot(self.connection, self.slot):
                self.connection.execute(
                    "SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, 1,"
                    " 'proto_version', '1', 'publication_names', %s)",
                    [self.slot, str(high), self._publication_list()],
                )

    def acknowledge(self, upto: Position) -> None:
        """Let the server forget what commits before this position."""
        try:
            slots.advance(self.connection, self.slot, upto)
        except errors().InsufficientPrivilege:
            options = (("proto_version", "1"), ("publication_names", self._publication_list()))
            replication_protocol.confirm(self.dsn, self.slot, upto, options)

    def require_reaches(self, low: Position) -> None:
        """Raise SourceError SRC-115 unless the log that was captured up to `low` is this server's (still)."""
        end = self._lsn("SELECT pg_current_wal_insert_lsn()::text")
        if end < low:
            raise log_ends_before(end, low)

    def _may_peek(self) -> bool:
        row = self.connection.execute("SELECT has_function_privilege(%s, 'EXECUTE')", [PEEK]).fetchone()
        return row is not None and bool(row[0])

    def _publication_list(self) -> str:
        return '"' + self.publication.replace('"', '""') + '"'

    def _lsn(self, query: str) -> Position:
        row = self.connection.execute(query.encode()).fetchone()
        assert row is not None
        return Position.parse(row[0])
