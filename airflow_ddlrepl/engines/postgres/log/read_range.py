"""This module reads one range of PostgreSQL's log; ranges of a window are read side by side.

Every range is read with pg_logical_slot_peek_binary_changes over ADBC: bounded, repeatable, and nothing
is confirmed to the source. With several ranges each task works on a temporary copy of the slot.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.retention import NO_LIMITS, Limits
from airflow_ddlrepl.ddl.sql.query_string import ByTransaction
from airflow_ddlrepl.engines.postgres.connection import settings
from airflow_ddlrepl.engines.postgres.connection.connect import arrow_connection, session
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import first_row, over
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import set_all
from airflow_ddlrepl.engines.postgres.log import preconditions, slots
from airflow_ddlrepl.engines.postgres.log.oversized import TEXTS, Oversized, oversized
from airflow_ddlrepl.engines.postgres.log.replication_protocol import batches, messages
from airflow_ddlrepl.engines.postgres.log.timeline import TIMELINE, changed
from airflow_ddlrepl.engines.postgres.pgoutput.decoder import Decoder
from airflow_ddlrepl.engines.postgres.pgoutput.gaps import without_large
from airflow_ddlrepl.engines.postgres.pgoutput.ignored import IgnoredTransactions
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import signatures_of
from airflow_ddlrepl.engines.postgres.pgoutput.undecodable import RAW, decodable
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.log import LogBatch, LogRange
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS

IN_USE = "55006"
_ENCODINGS = {"UTF8": "utf-8", "SQL_ASCII": "utf-8", "LATIN1": "iso8859-1", "LATIN9": "iso8859-15", "EUC_JP": "euc_jp"}


_RAW_LOG = {**settings.LOG, "client_encoding": RAW}


def _codec(encoding: str) -> str:
    """Return the name of Python's codec for an encoding of PostgreSQL's."""
    return _ENCODINGS.get(encoding, encoding.lower().replace("win", "cp"))


class Reader(StrEnum):
    """A reader is the way in which the log is read: by SQL functions, or by the replication protocol."""

    FUNCTIONS = "functions"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True)
class PostgresRange(LogRange):
    """A range of PostgreSQL's log is read over one connection; it is picklable, and its text never shows the location.

    dsn: libpq URL. count: how many ranges the window is read in. wire_format: "binary" or "text".
    reader: PROTOCOL where the SQL functions are not granted; then count must be 1 (see `choose_reader`).
    timeline: that the run began with; 0: any. is_behind: the slot is far before `low`, a copy is moved up.
    types: (oid, built-in oid) of enums and domains that may come in binary format: `wire_types`.
    ignored: sessions whose changes are left out. late: transactions of theirs, by commit position, with the setting
    that ignores them: an earlier reading found them late. is_for_queue: clients of Streams read it. limits: of what is
    read.
    """

    dsn: str = field(repr=False)
    slot: str
    publication: str
    count: int = 1
    wire_format: str = "binary"
    types: tuple[tuple[int, int], ...] = ()
    reader: Reader = Reader.FUNCTIONS
    timeline: int = 0
    is_behind: bool = False
    ignored: IgnoredSessions = NO_SESSIONS
    late: tuple[tuple[int, str], ...] = ()
    is_for_queue: bool = False
    limits: Limits = NO_LIMITS

    def read(self) -> Iterator[LogBatch]:
        """Yield what committed in the range.

        Raises NeedsText SRC-150 when the window must be read in text format, OversizedChange SRC-195 where the server
        can't send a change, what `preconditions` raises when slot, publication or rights are not as they should be,
        SourceError SRC-160 when the stream is not understood.
        """
        ignored = IgnoredTransactions(self.ignored, dict(self.late))
        yield from _read(self, ignored)
        if ignored.late:
            yield LogBatch(again=replace(self, late=tuple(ignored.late.items())))


@dataclass(frozen=True, slots=True)
class LeftOutRange(LogRange):
    """A range that is left out is a transaction that the server can't send: its tables wait for a load."""

    part: Oversized

    def read(self) -> Iterator[LogBatch]:
        """Yield the transaction without its changes, and which tables wait for a load because of it."""
        place = [[int(self.part.low)], [self.part.xid], [self.part.committed], [""], [0]]
        arrays = [pa.array(one, of.type) for one, of in zip(place, TRANSACTIONS, strict=True)]
        ended = pa.RecordBatch.from_arrays(arrays, schema=TRANSACTIONS)
        yield LogBatch(events=list(self.part.events()), transactions=ended)


def ranges(low: Position, high: Position, parallel: int, minimum_bytes: int) -> list[tuple[Position, Position]]:
    """Split [low, high) into at most `parallel` ranges of about equal length, none shorter than minimum_bytes."""
    if high <= low:
        return []
    count = max(1, min(parallel, (high - low) // max(minimum_bytes, 1)))
    cuts = [Position(low + (high - low) * i // count) for i in range(count)] + [high]
    return list(pairwise(cuts))


def choose_reader(connection: Any) -> Reader:
    """Return the fastest way to read the log that the server grants this role.

    connection: psycopg.
    """
    signatures = (
        "pg_logical_slot_peek_binary_changes(name, pg_lsn, int, text[])",
        "pg_copy_logical_replication_slot(name, name, bool)",
        "pg_replication_slot_advance(name, pg_lsn)",
    )
    checks = " and ".join(f"has_function_privilege('pg_catalog.{one}', 'execute')" for one in signatures)
    (granted,) = connection.execute(f"select {checks}").fetchone()
    return Reader.FUNCTIONS if granted else Reader.PROTOCOL


def _read(task: PostgresRange, ignored: IgnoredTransactions) -> Iterator[LogBatch]:
    with _session(task) as cursor:
        encoding = _prepare(cursor, task)
        user = _user(cursor) if task.is_for_queue else ""
        signatures = signatures_of(over(cursor), task.publication, partial(session, task.dsn))
        types, codec = dict(task.types), _codec(encoding)
        decoder = Decoder(task.low, task.high, task.wire_format, types, codec, signatures, ignored)
        decoder.shows_begun, decoder.gaps.most = task.is_for_queue, task.limits.gaps
        events, size = ByTransaction(), 0
        for messages_read in _messages(cursor, task, encoding):
            decoded = decoder.feed(messages_read)
            decoded = decodable(decoded, is_queue=task.is_for_queue) if encoding == RAW else decoded
            shapes = [table for event in decoded.events for table in event.tables]
            found = list(events.take(decoded.events))
            read, size = decoder.bytes_read - size, decoder.bytes_read
            yield LogBatch(decoded.rows, found, shapes, decoded.transactions, decoded.begun, read, user)
        decoder.finish()
        unsigned = decoder.unsigned.events() if task.is_for_queue else []
        yield LogBatch(events=[*events.rest(), *decoder.gaps.events(), *ignored.events(), *unsigned], user=user)


@contextmanager
def _session(task: PostgresRange) -> Iterator[Any]:
    connection = arrow_connection(task.dsn)
    try:
        cursor = connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()
    except (connection.Error, errors().Error, pa.ArrowException, OSError) as error:
        raise _source_error(error, task) from None
    finally:
        connection.close()


def _prepare(cursor: Any, task: PostgresRange) -> str:
    """Set up the session, check slot and publication; return the database's encoding."""
    first_row(cursor, set_all(settings.LOG))
    ask = over(cursor)
    preconditions.require_publication(ask, task.publication, at=task.low)
    timeline = ask(f"select {TIMELINE}") if task.timeline else None
    if timeline and timeline[0] != task.timeline:
        raise changed(task.timeline, timeline[0])
    preconditions.require_slot(ask, task.slot, task.low)
    row = first_row(cursor, "select current_setting('server_encoding')")
    encoding = str(row[0]) if row else "UTF8"
    if encoding == RAW:  # else the server refuses all that follows bytes that are no UTF-8
        first_row(cursor, set_all(_RAW_LOG))
    return encoding


def _user(cursor: Any) -> str:
    row = first_row(cursor, "select current_user::text")
    return str(row[0]) if row else ""


def _messages(cursor: Any, task: PostgresRange, encoding: str) -> Iterator[pa.Array]:
    """Yield the messages of the range, batch by batch; from the slot itself, or from a copy of it."""
    if task.reader is Reader.PROTOCOL:
        known = _RAW_LOG if encoding == RAW else settings.LOG
        yield from _streamed(task, known)
        return
    if task.count == 1 and not task.is_behind:
        try:
            yield from _peek(cursor, task.slot, task)
            return
        except (cursor.connection.Error, pa.ArrowException, OSError) as error:
            if _state(error) != IN_USE:
                raise
    copy = f"ddlrepl_{uuid.uuid4().hex[:16]}"
    first_row(cursor, f"select pg_copy_logical_replication_slot({literal(task.slot)}, {literal(copy)}, true)::text")
    found = first_row(
        cursor, f"select confirmed_flush_lsn::text from pg_replication_slots where slot_name = {literal(copy)}"
    )
    begins = Position.parse(found[0]) if found else task.low
    if begins > task.low:  # a capture has moved the slot on since it was looked at
        raise preconditions.slot_ahead(task.slot, begins, task.low)
    if begins < task.low:
        first_row(
            cursor, f"select pg_replication_slot_advance({literal(copy)}, {literal(str(task.low))}::pg_lsn)::text"
        )
    yield from _peek(cursor, copy, task)
    first_row(cursor, f"select pg_drop_replication_slot({literal(copy)})::text")


def _streamed(task: PostgresRange, settings: Mapping[str, str]) -> Iterator[pa.Array]:
    place = (task.dsn, task.slot, task.low, task.high)
    return batches(messages(*place, options_of(task), settings, task.timeline), task.limits.message_bytes)


def _peek(cursor: Any, slot: str, task: PostgresRange) -> Iterator[pa.Array]:
    # The function stands first: pg_stat_activity shows the beginning of a statement.
    cursor.execute(
        "with log as (select data from pg_catalog.pg_logical_slot_peek_binary_changes("
        f"{literal(slot)}, {literal(str(task.high))}::pg_lsn, null, "
        + ", ".join(literal(word) for option in options_of(task) for word in option)
        + f")) select {without_large('data', task.limits.message_bytes)} from log"
    )
    for batch in cursor.fetch_record_batch():
        if batch.num_rows:
            yield batch.column(0)


def options_of(task: PostgresRange) -> list[tuple[str, str]]:
    """Return pgoutput's options."""
    options = [("proto_version", "1"), ("publication_names", quote(task.publication)), ("messages", "true")]
    return [*options, ("binary", "true")] if task.wire_format == "binary" else options


GONE, NO_RIGHT, NONE_FREE, FULL, REMOVED = "42704", "42501", "53400", "53100", "58P01"
# Failures in the middle of a result come without their SQLSTATE.
_TEXTS = {
    r"is active for PID": IN_USE,
    r"(slot|publication) .* does not exist": GONE,
    r"permission denied": NO_RIGHT,
    r"all replication slots are in use": NONE_FREE,
    r"No space left on device": FULL,
    r"has already been removed|can no longer get changes": REMOVED,
}


def _state(error: BaseException) -> str:
    """Return the SQLSTATE of an error, from its text where the driver lost it; "" when unknown."""
    known = getattr(error, "sqlstate", None)
    return known or next((state for text, state in _TEXTS.items() if re.search(text, str(error))), "")


def _source_error(error: BaseException, task: PostgresRange) -> SourceError:
    """Return the SourceError for what failed while the log was read, after all checks.

    It has the codes that the preconditions have for it.
    """
    text, state = " ".join(str(error).split()), _state(error)
    if TEXTS.search(text):
        return oversized(text, task.low)
    if state == GONE:
        if re.search(r'publication ".*" does not exist', text):
            return preconditions.publication_missing(task.publication, task.low)
        return preconditions.slot_missing(task.slot, task.low)
    if state == REMOVED:
        return slots.lost(task.slot, text, task.low)
    if state == IN_USE:
        return slots.busy(task.slot, error)
    if state == NONE_FREE:
        return slots.none_free()
    code, hint, retryable = {
        NO_RIGHT: ("SRC-105", "ALTER ROLE … REPLICATION for the capture user, and see docs/postgresql.md", False),
        FULL: ("SRC-151", "free space on the source's disk: decoding large transactions needs temporary files", True),
    }.get(state, ("SRC-146", "see the source's log; the next run reads the window again", True))
    return SourceError(f"reading the log failed: {text}", code=code, at=task.low, hint=hint, retryable=retryable)
