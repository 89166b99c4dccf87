"""This module finds the transaction that the server can't send, and the tables that it may have written to.

These are the ones whose changes the server sends before it fails, where nothing follows, which another output plugin
says; else they are all tables.
"""

from __future__ import annotations

import contextlib
import re
import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.settings import LOG, SCHEMA
from airflow_ddlrepl.engines.postgres.log.oversized import Oversized
from airflow_ddlrepl.engines.postgres.log.replication_protocol import messages
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import relation, truncated
from airflow_ddlrepl.errors import OversizedChange
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position

EPOCH_2000 = 946_684_800_000_000
_PLACE = re.compile(r"\b(\w+) callback, associated LSN ([0-9A-F]+/[0-9A-F]+)")
_COUNT_LATER = """
SELECT count(*) FILTER (WHERE lsn = %(at)s::pg_lsn), count(*) FILTER (WHERE lsn > %(at)s::pg_lsn)
FROM pg_logical_slot_peek_changes(%(slot)s, %(high)s::pg_lsn, NULL, 'stream-changes', '1', 'skip-empty-xacts', '1')
WHERE xid::text = %(xid)s AND (data LIKE 'streaming change%%' OR data LIKE 'streaming truncate%%')
"""
_PUBLISHED = """
SELECT c.oid::bigint, n.nspname, c.relname FROM pg_publication_rel r
JOIN pg_publication p ON p.oid = r.prpubid AND p.pubname = %s
JOIN pg_class c ON c.oid = r.prrelid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
"""


@dataclass(frozen=True, slots=True)
class LogToSearch:
    """This is where an oversized change is looked for. tables: of the channel, by id. options: of the output plugin."""

    dsn: str = field(repr=False)
    slot: str
    publication: str
    low: Position
    high: Position
    options: tuple[tuple[str, str], ...]
    timeline: int
    tables: Mapping[int, TableName]


def find(log: LogToSearch) -> Oversized | None:
    """Return the first part of the log that the server can't send; None: it can send all of it.

    Raises SourceError SRC-149 when the server refuses the replication protocol.
    """
    first = _sent(log)
    if not (first.failed and first.is_open):
        return None
    commit = Position(first.lsn)
    own = replace(log, low=commit, high=Position(commit + 1))
    alone = _sent(own)  # a session of its own describes all tables again
    place = _PLACE.search(alone.failed)
    if place is None:
        return None
    at = Position.parse(place[2])
    written = {i: name for i, name in alone.tables.items() if name.schema != SCHEMA}
    if not (written and _is_last_change(own, at, first.xid)):
        written |= {**_published(own), **log.tables}
    return Oversized(own.low, own.high, at, first.xid, first.committed, tuple(sorted(written.items())))


@dataclass(slots=True)
class _Sent:
    """What a stream has sent before it failed: the last transaction that began, and the tables of its changes."""

    lsn: int = 0
    committed: int = 0
    xid: int = 0
    is_open: bool = False
    described: dict[int, TableName] = field(default_factory=dict)
    tables: dict[int, TableName] = field(default_factory=dict)
    failed: str = ""

    def take(self, message: bytes) -> None:
        match message[:1]:
            case b"B":
                self.lsn, committed, self.xid = struct.unpack_from(">QqI", message, 1)
                self.committed, self.is_open = committed + EPOCH_2000, True
                self.tables.clear()
            case b"C":
                self.is_open = False
            case b"R":  # the server describes a table right before its first change
                found = relation(message)
                self.described[found.id] = self.tables[found.id] = found.name
            case b"T":
                ids, _, _ = truncated(message)
                self.tables.update((i, self.described[i]) for i in ids if i in self.described)
            case b"I" | b"U" | b"D":
                table_id = int.from_bytes(message[1:5], "big")
                self.tables[table_id] = self.described[table_id]


def _sent(log: LogToSearch) -> _Sent:
    """Read the log over the replication protocol up to where the server fails."""
    sent = _Sent()
    try:
        for message in messages(log.dsn, log.slot, log.low, log.high, log.options, LOG, log.timeline):
            sent.take(message)
    except OversizedChange as error:
        sent.failed = error.said
    return sent


def _is_last_change(log: LogToSearch, at: Position, xid: int) -> bool:
    """Is the change the last one of its transaction? False, too, where nobody can say.

    The transaction is streamed to an output plugin that shows no values then, so that the server need not send any. The
    copy of the slot is not moved up: what is before a slot's position is not streamed.
    """
    copy = f"ddlrepl_{uuid.uuid4().hex[:16]}"
    with (
        session(log.dsn, application_name="ddlrepl capture") as connection,
        contextlib.suppress(errors().Error),  # which drops the temporary slot, too
    ):
        connection.execute("SET logical_decoding_work_mem = '64kB'")
        connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s, true, 'test_decoding')", [log.slot, copy])
        of = {"high": str(log.high), "at": str(at), "xid": str(xid)}
        row = connection.execute(_COUNT_LATER, {**of, "slot": copy}).fetchone()
        connection.execute("SELECT pg_drop_replication_slot(%s)", [copy])
        connection.execute("RESET logical_decoding_work_mem")
        return row == (1, 0)
    return False


def _published(log: LogToSearch) -> dict[int, TableName]:
    """Return the tables that the channel publishes now, by id."""
    with session(log.dsn, application_name="ddlrepl capture") as connection:
        rows = connection.execute(_PUBLISHED, [log.publication]).fetchall()
    return {int(table_id): TableName(schema, name) for table_id, schema, name in rows}
