"""This module reads the log over the streaming replication protocol, for servers that grant nothing else.

The messages are those that the SQL functions return.
About a third as fast as the SQL functions, and only one reader per slot. Reading confirms nothing: every
status reply says "flushed up to nowhere". `confirm` does.
"""

from __future__ import annotations

import contextlib
import select
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.connect import connect, parameters
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.connection.settings import NO_TIMEOUTS, set_all
from airflow_ddlrepl.engines.postgres.log.oversized import TEXTS, oversized
from airflow_ddlrepl.engines.postgres.log.timeline import changed
from airflow_ddlrepl.engines.postgres.pgoutput.gaps import cut
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position

BATCH_BYTES = 16 << 20
SILENCE_SECONDS = 60.0
REPLY_SECONDS = 5.0
LEAVING_SECONDS = 10.0
_XLOG = struct.Struct(">cQQq")
_KEEPALIVE = struct.Struct(">cQqB")
_COPY_BOTH = 8


def messages(
    dsn: str,
    slot: str,
    low: Position,
    high: Position,
    options: Sequence[tuple[str, str]],
    settings: Mapping[str, str],
    timeline: int = 0,
) -> Iterator[bytes]:
    """Yield the messages of the transactions that commit in [low, high), maybe some more.

    timeline: that the run began with; 0: any. Raises SourceError SRC-117 for another one, SRC-149 when the server
    refuses, or sends nothing for a minute before `high`.
    """
    with contextlib.closing(connect(_replicating(dsn))) as connection:
        link = connection.pgconn
        now = int(link.exec_(b"IDENTIFY_SYSTEM").get_value(0, 1) or 0)
        if timeline not in (0, now):
            raise changed(timeline, now)
        for command in (set_all(settings), NO_TIMEOUTS):
            if message := link.exec_(command.encode()).error_message:
                raise refused(message.decode(errors="replace"), low)
        listed = ", ".join(f"{name} {literal(value)}" for name, value in options)
        _start(link, f"START_REPLICATION SLOT {quote(slot)} LOGICAL {low} ({listed})", low)
        for payload in _payloads(link, high):
            if payload[:1] == b"B" and struct.unpack_from(">Q", payload, 1)[0] >= high:
                break
            yield payload
        link.put_copy_end()
        link.flush()


def confirm(dsn: str, slot: str, to: Position, options: Sequence[tuple[str, str]]) -> None:
    """Let the server forget what commits before `to`. Raises SourceError SRC-149 when it does not within seconds."""
    with contextlib.closing(connect(_replicating(dsn))) as connection:
        link = connection.pgconn
        listed = ", ".join(f"{name} {literal(value)}" for name, value in options)
        _start(link, f"START_REPLICATION SLOT {quote(slot)} LOGICAL {to} ({listed})", to)
        _reply(link, to)
        _until_heard(link, to)
        link.put_copy_end()
        link.flush()


def let_fail_over(dsn: str, slot: str) -> None:
    """Let standbys that synchronise slots have this slot, too (version 17 and later).

    Raises SourceError SRC-149 when refused.
    """
    with contextlib.closing(connect(_replicating(dsn))) as connection:
        answer = connection.pgconn.exec_(f"ALTER_REPLICATION_SLOT {quote(slot)} (FAILOVER true)".encode())
        if message := answer.error_message:
            raise refused(message.decode(errors="replace"), Position(0))


def timeline_history(dsn: str, timeline: int) -> str:
    """Return the text of the file that says where the timelines before this one ended.

    Raises SourceError SRC-149 when there is none.
    """
    with contextlib.closing(connect(_replicating(dsn))) as connection:
        answer = connection.pgconn.exec_(f"TIMELINE_HISTORY {timeline}".encode())
        content = answer.get_value(0, 1) if answer.ntuples else None
        if content is None:
            raise refused(answer.error_message.decode(errors="replace"), Position(0))
        return bytes(content).decode(errors="replace")


@contextlib.contextmanager
def command_link(dsn: str) -> Iterator[Any]:
    """Open a connection for commands of the replication protocol, whose sessions end for no timeout."""
    with contextlib.closing(connect(_replicating(dsn))) as connection:
        link = connection.pgconn
        if message := link.exec_(NO_TIMEOUTS.encode()).error_message:
            raise refused(message.decode(errors="replace"), Position(0))
        yield link


def _until_heard(link: Any, to: Position) -> None:
    """Wait until the server has taken the last reply.

    It answers in order: with its answer to the next question, the one before has been taken.
    """
    patience = time.monotonic() + LEAVING_SECONDS
    _reply(link, to)
    while True:
        size, data = link.get_copy_data(1)
        if size > 0 and data[:1] == b"k":
            return
        if size < 0 or time.monotonic() > patience:
            raise refused(link.error_message.decode(errors="replace") or "no answer", to)
        if not size:
            select.select([link.socket], [], [], 1.0)
            link.consume_input()


def _start(link: Any, command: str, low: Position) -> None:
    """Start the stream; a reader that is just leaving the slot gets some seconds to do so."""
    patience = time.monotonic() + LEAVING_SECONDS
    while (started := link.exec_(command.encode())).status != _COPY_BOTH:
        text = started.error_message.decode(errors="replace")
        if "is active for PID" not in text or time.monotonic() > patience:
            raise refused(text, low)
        time.sleep(0.2)


def _replicating(dsn: str) -> str:
    """Return the location with parameters for a replication connection."""
    parts = {**parameters(dsn), "replication": "database"}
    escaped = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in parts.items()}
    return " ".join(f"{name}='{value}'" for name, value in escaped.items())


def batches(payloads: Iterator[bytes], largest: int) -> Iterator[pa.Array]:
    """Yield messages batch by batch; of logical messages larger than `largest` the content is left out."""
    pending: list[bytes] = []
    size = 0
    for payload in (cut(one, largest) for one in payloads):
        pending.append(payload)
        size += len(payload)
        if size >= BATCH_BYTES:
            yield pa.array(pending, pa.binary())
            pending, size = [], 0
    if pending:
        yield pa.array(pending, pa.binary())


def _payloads(link: Any, high: Position) -> Iterator[bytes]:
    """Yield pgoutput messages until the server has read up to `high`."""
    heard = replied = time.monotonic()
    reached = 0
    while True:
        size, data = link.get_copy_data(1)
        now = time.monotonic()
        if size > 0 and data[:1] == b"w":
            heard = now
            yield bytes(data[_XLOG.size :])
        elif size > 0:
            _, position, _, _ = _KEEPALIVE.unpack_from(data)
            if position >= high:
                return
            heard, reached = (now, position) if position > reached else (heard, reached)
        elif size < 0:
            ended = link.get_result()  # says why
            raise refused((link.error_message or (ended and ended.error_message) or b"").decode(errors="replace"), high)
        else:
            _wait(link, high, heard)
        if now - replied > REPLY_SECONDS or not size:
            replied = now
            _reply(link)


def _wait(link: Any, high: Position, heard: float) -> None:
    if time.monotonic() - heard > SILENCE_SECONDS:
        raise refused(f"no message for {SILENCE_SECONDS:.0f} seconds", high)
    select.select([link.socket], [], [], 1.0)
    link.consume_input()


def _reply(link: Any, flushed: int = 0) -> None:
    """Send a status reply that asks for the server's position, and confirms what lies before `flushed` (0: nothing)."""
    link.put_copy_data(b"r" + struct.pack(">QQQqB", flushed, flushed, flushed, 0, 1))
    link.flush()


def refused(text: str, at: Position) -> SourceError:
    """Return SourceError SRC-149: the server refuses a command of the replication protocol, or ends the stream.

    OversizedChange SRC-195 where it does so because a change is larger than it can send.
    """
    said = " ".join(text.split())
    if TEXTS.search(said):
        return oversized(said, at)
    return SourceError(
        f"streaming the log failed: {said or 'the server ended the stream'}",
        code="SRC-149",
        at=at,
        hint="the role needs REPLICATION and pg_hba.conf must let it in; a slot has one reader at a time",
        retryable=True,
    )
