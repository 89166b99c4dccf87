"""This module decodes the rare messages, one at a time: relations, truncates, logical messages, origins."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from airflow_ddlrepl.engines.postgres.connection.escaped import readable_name
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import is_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.stored import read_with_tables
from airflow_ddlrepl.model.table import Identity, Table

PREFIX = "ddlrepl"
SESSION, ROLE = "ddlrepl.session", "ddlrepl.role"
"""Prefixes of the messages that say whose session a transaction is of."""
SHORT = 1 << 12  # bytes of a relation's columns that relations share
IDENTITIES = {"d": Identity.DEFAULT, "n": Identity.NOTHING, "f": Identity.FULL, "i": Identity.INDEX}


class Malformed(Exception):
    """This error says that bytes are not what the protocol says; the decoder adds the position."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A relation column is one column in a Relation message."""

    name: str
    type_oid: int
    typmod: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation is a decoded Relation message: it says how the next rows of a table are laid out."""

    id: int
    name: TableName
    identity: Identity
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A stamp is the place of a control record in the log: its key and its transaction."""

    key: LogKey
    xid: int
    committed: int
    origin: str


_TYPE = struct.Struct(">Ii")
_NUMBERS = {kind: struct.Struct(f">{kind}") for kind in "bhiIQ"}


class Cursor:
    """A cursor reads one message from its start. Reading over its end raises Malformed."""

    def __init__(self, message: bytes) -> None:
        self._bytes = message
        self._at = 1

    def number(self, kind: str) -> int:
        """Read one big-endian number, in struct's notation, and return it."""
        number = _NUMBERS[kind]
        return int(number.unpack(self.take(number.size))[0])

    def take(self, size: int) -> bytes:
        """Read the next bytes and return them. Raises Malformed when there are fewer."""
        if size < 0 or self._at + size > len(self._bytes):
            raise Malformed("a message ends early")
        self._at += size
        return self._bytes[self._at - size : self._at]

    def rest(self) -> bytes:
        """Return the bytes that are left."""
        return self._bytes[self._at :]

    def text(self) -> str:
        """Read a zero-terminated string and return it."""
        end = self._bytes.find(b"\0", self._at)
        if end < 0:
            raise Malformed("a name has no end")
        text = self._bytes[self._at : end].decode("utf-8", "surrogateescape")
        self._at = end + 1
        return text


def relation(message: bytes) -> Relation:
    """Decode a Relation message (`R`)."""
    cursor = Cursor(message)
    number = cursor.number("I")
    name = TableName(cursor.text() or "pg_catalog", cursor.text())
    identity = IDENTITIES.get(cursor.take(1).decode("latin-1"))
    if identity is None:
        raise Malformed("an unknown replica identity")
    rest = cursor.rest()
    return Relation(number, name, identity, _shared(rest) if len(rest) <= SHORT else _columns(rest))


def _columns(part: bytes) -> tuple[RelationColumn, ...]:
    """Decode the columns at the end of a Relation message."""
    cursor = Cursor(b"R" + part)
    columns = []
    for _ in range(cursor.number("h")):
        flags, column = cursor.take(1)[0], cursor.text()
        oid, typmod = _TYPE.unpack(cursor.take(_TYPE.size))
        columns.append(RelationColumn(column, oid, typmod, bool(flags & 1)))
    return tuple(columns)


_shared = lru_cache(1024)(_columns)
"""Thousands of tables may have the same columns: they share one object."""


def origin(message: bytes) -> str:
    """Decode an Origin message (`O`); return the name of the replication origin."""
    cursor = Cursor(message)
    cursor.number("Q")
    return cursor.text()


def truncated(message: bytes) -> tuple[tuple[int, ...], bool, bool]:
    """Decode a Truncate message (`T`); return ids of the emptied tables, cascade, restart identity."""
    cursor = Cursor(message)
    count, flags = cursor.number("I"), cursor.number("b")
    return tuple(cursor.number("I") for _ in range(count)), bool(flags & 1), bool(flags & 2)


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """A logical message (`M`) is what pg_logical_emit_message wrote."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


def logical_message(message: bytes) -> LogicalMessage:
    """Decode a logical message (`M`)."""
    cursor = Cursor(message)
    flags, lsn, prefix = cursor.number("b"), cursor.number("Q"), cursor.text()
    return LogicalMessage(bool(flags & 1), lsn, prefix, cursor.take(cursor.number("I")))


def is_ddl_record(message: LogicalMessage) -> bool:
    """Does the message claim to be a DDL record of ours?"""
    return message.prefix == PREFIX and message.transactional


def message_event(message: LogicalMessage, at: Stamp, encoding: str, *, is_ours: bool = False) -> Event:
    """Return the control record of a logical message under our own prefix.

    is_ours: has it our signature?
    One that can't be read, or is not ours, becomes a gap: then everything is inspected again.
    """
    try:
        data = read_with_tables(message.content.decode("utf-8" if is_ours else encoding))
        if data["v"] != 1 or data["kind"] not in ("ddl", "gap"):
            raise ValueError(f"version {data['v']} kind {data['kind']}")
        if data["kind"] == "gap":
            return Event(EventKind.GAP, *_place(at), statement=data.get("statement"))
        if not (is_ours and is_of(data.get("xid"), at.xid)):
            raise ValueError("it is forged: its signature is not ddlrepl's")
        return Event(
            EventKind.DDL,
            *_place(at),
            tag=data.get("tag") or "",
            statement=data.get("statement"),
            query=data.get("query"),
            settings=data.get("settings") or {},
            tables=tuple(Table.from_json(one) for one in data.get("tables") or ()),
            before=tuple(Table.from_json(one) for one in data.get("before") or ()),
            dropped=tuple((int(number), TableName(*name)) for number, name in data.get("dropped") or ()),
            rewritten=tuple(data.get("rewritten") or ()),
            filled=tuple(data.get("filled") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError, LookupError) as error:
        return Event(EventKind.GAP, *_place(at), statement=f"a DDL record in the log can't be read: {error!r}")


def truncate_event(names: tuple[tuple[int, TableName], ...], cascade: bool, restart: bool, at: Stamp) -> Event:
    """Return the control record of a TRUNCATE."""
    names = tuple((i, TableName(readable_name(name.schema), readable_name(name.name))) for i, name in names)
    settings = {"cascade": cascade, "restart_identity": restart}
    return Event(EventKind.TRUNCATE, *_place(at), tag="TRUNCATE TABLE", dropped=names, settings=settings)


def _place(at: Stamp) -> tuple[LogKey, int, int, str]:
    return at.key, at.xid, at.committed, at.origin
