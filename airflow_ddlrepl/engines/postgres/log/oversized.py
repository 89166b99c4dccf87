"""This module finds a change that the server can't send: more than a gigabyte, in one row or one message.

The server ends every reading of the log there, and can't leave out one change of a transaction. So the transaction is
left out whole, and the tables that it may have written to are loaded again. These are the ones whose changes the server
sends before it fails, where nothing follows, which another output plugin says; else they are all tables.
"""

from __future__ import annotations

import contextlib
import re
import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.log.replication_protocol import messages
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import relation, truncated
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position

CODE = "SRC-195"
EPOCH_2000 = 946_684_800_000_000
TEXTS = re.compile(r"invalid memory alloc request size|enlarge string buffer|string buffer exceeds maximum")
_PLACE = re.compile(r"\b(\w+) callback, associated LSN ([0-9A-F]+/[0-9A-F]+)")
_ROW = re.compile(rb"[IUD]")
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


class OversizedChange(SourceError):
    """This error says that the log has a change that is larger than the server can send (SRC-195)."""


def oversized(text: str, at: Position, table: TableName | None = None) -> OversizedChange:
    """Return the error of a change that the server can't send. at: where it is, or where the reading began."""
    return OversizedChange(
        f"the log has a change that is larger than the server can send: {text}",
        code=CODE,
        table=table,
        at=at,
        hint="PostgreSQL sends at most 1 GB for one row or message. Its transaction is left out and its tables are"
        " loaded again, where the role may read the log by the replication protocol; keep rows below that",
    )


@dataclass(frozen=True, slots=True)
class Oversized:
    """An oversized part of the log is a transaction that the server can't send.

    low, high: the part; its commit is in it alone. at: the change that is too large. tables: those that the transaction
    may have written to, with their ids.
    """

    low: Position
    high: Position
    at: Position
    xid: int
    committed: int
    tables: tuple[tuple[int, TableName], ...] = ()

    @property
    def why(self) -> str:
        """Return why the tables are loaded again."""
        return f"{CODE}: transaction {self.xid} at {self.low} has a change that is larger than the server can send"

    def events(self) -> Iterator[Event]:
        """Yield the control records of the part: its schema changes are not known, and these tables wait for a load."""
        place = (LogKey(self.low, START_OF_TRANSACTION), self.xid, self.committed)
        yield Event(EventKind.GAP, *place, statement=self.why)
        for table_id, _ in self.tables:
            layout = {"table_id": table_id, "until": int(self.low), "why": self.why}
            yield Event(EventKind.RELATION, *place, layout=layout, is_inspected=True)


@dataclass(frozen=True, slots=True)
class LogToSearch:
    """This is where an oversized change is looked for. tables: of the channel, by id. options: of the output plugin."""

    dsn: str = field(repr=False)
    slot: str
    low: Position
    high: Position
    options: tuple[tuple[str, str], ...]
    settings: Mapping[str, str]
    publication: str
    timeline: int
    tables: Mapping[int, TableName]


@dataclass(slots=True)
class _Seen:
    """What a stream has sent before it failed: the last transaction that began, and the tables of its changes."""

    lsn: int = 0
    committed: int = 0
    xid: int = 0
    is_open: bool = False
    described: dict[int, TableName] = field(default_factory=dict)
    tables: dict[int, TableName] = field(default_factory=dict)
    last_described: int = 0
    failed: str = ""

    def take(self, message: bytes) -> None:
        tag = message[:1]
        if tag == b"B":
            self.lsn, committed, self.xid = struct.unpack_from(">QqI", message, 1)
            self.committed, self.is_open = committed + EPOCH_2000, True
            self.tables.clear()
            self.last_described = 0
        elif tag == b"C":
            self.is_open = False
        elif tag == b"R":
            found = relation(message)
            self.described[found.id] = self.tables[found.id] = found.name
        elif tag == b"T":
            ids, _, _ = truncated(message)
            self.tables.update((i, self.described[i]) for i in ids if i in self.described)
        elif _ROW.match(tag):
            table_id = int.from_bytes(message[1:5], "big")
            self.tables[table_id] = self.described[table_id]


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
    part = Oversized(commit, own.high, at, first.xid, first.committed)
    known = {i: name for i, name in alone.tables.items() if name.schema != SCHEMA}
    if not (known and _is_last_change(own, at, first.xid)):
        known |= {**_published(own), **log.tables}
    return replace(part, at=at, tables=tuple(sorted(known.items())))


def _published(log: LogToSearch) -> dict[int, TableName]:
    """Return the tables that the channel publishes now, by id."""
    with session(log.dsn, application_name="ddlrepl capture") as connection:
        rows = connection.execute(_PUBLISHED, [log.publication]).fetchall()
    return {int(table_id): TableName(schema, name) for table_id, schema, name in rows}


def _sent(log: LogToSearch) -> _Seen:
    """Read the log over the replication protocol up to where the server fails."""
    seen = _Seen()
    try:
        for message in messages(log.dsn, log.slot, log.low, log.high, log.options, log.settings, log.timeline):
            seen.take(message)
    except SourceError as error:
        if not TEXTS.search(error.message):
            raise
        seen.failed = error.message
    return seen


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
        return row is not None and row[0] == 1 and row[1] == 0
    return False


def around(low: Position, high: Position, parts: Sequence[Oversized]) -> Iterator[tuple[Position, Position]]:
    """Yield the stretches of a window between its oversized parts."""
    for part in sorted(parts, key=lambda one: one.low):
        if low < part.low:
            yield low, part.low
        low = part.high
    if low < high:
        yield low, high
