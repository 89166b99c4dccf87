"""This module finds messages that no client takes, before they are read, and counts those that claim to be ours.

Anybody may write messages into the log, as many and as large as they like, under any prefix. Which are not taken is
decided by their prefixes alone, for all messages of a batch at once. A message under our prefix that we have not signed
may stand for a record that could not be written: its transaction has one gap, whatever the number of such messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_ddlrepl.config.sections.retention import LARGEST_MESSAGE, NO_LIMITS
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import (
    PREFIX,
    ROLE,
    SESSION,
    LogicalMessage,
    Stamp,
    message_event,
)
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.streams.rules.written_messages import PREFIX as QUEUE

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.pgoutput.wire import Ints, Mask, Messages

MOST_TEXT = 10_000
"""A gap's message of so many bytes is read; of a longer one only its length is said."""
TAKEN = tuple(prefix.encode() + b"\0" for prefix in (PREFIX, QUEUE, SESSION, ROLE))
"""How the messages begin that some client may take. Heartbeats are none."""
NEWS = TAKEN[:2]
"""How those begin that are a change; the others say only whose session a transaction is of."""
LARGE_MESSAGE = 1 << 16
"""Bytes of a message that is worth not to send where no client takes it."""
PREFIX_AT = 10
"""Where a message's prefix begins: 'M', flags, position (8 bytes), prefix ending in zero, …"""


def taken(data: Messages, index: Ints) -> Mask:
    """Return which of these logical messages some client may take, by their prefixes alone."""
    import numpy as np

    starts, room = data.starts[index] + PREFIX_AT, data.ends[index] - data.starts[index] - PREFIX_AT
    found = np.zeros(len(index), np.bool_)
    for prefix in TAKEN:
        same = np.flatnonzero(room >= len(prefix))
        for place, byte in enumerate(prefix):
            same = same[data.bytes[starts[same] + place] == byte]
        found[same] = True
    return found


def is_taken_sql(column: str, prefixes: Sequence[bytes] = TAKEN) -> str:
    """Return the SQL condition that a logical message, as the server writes it, has one of these prefixes."""
    ways = (f"substr({column}, {PREFIX_AT + 1}, {len(one)}) = '\\x{one.hex()}'::bytea" for one in prefixes)
    return f"({' OR '.join(ways)})"


def without_large(column: str, largest: int = LARGEST_MESSAGE) -> str:
    """Return the SQL of a change without what is too large to be sent.

    A message that no client takes is cut within its prefix. A record that is larger than `largest` has no content.
    """
    is_message = f"octet_length({column}) > {LARGE_MESSAGE} AND get_byte({column}, 0) = {ord('M')}"
    empty = " ".join(
        f"WHEN {is_taken_sql(column, [one])} THEN substr({column}, 1, {PREFIX_AT + len(one)}) || '\\x00000000'::bytea"
        for one in TAKEN
    )
    is_too_large = f"octet_length({column}) > {largest} AND {is_taken_sql(column)}"
    cut = f"substr({column}, 1, {PREFIX_AT + 1})"
    kept = f"CASE WHEN {is_too_large} THEN CASE {empty} END WHEN {is_taken_sql(column)} THEN {column} ELSE {cut} END"
    return f"CASE WHEN {is_message} THEN {kept} ELSE {column} END"


def cut(message: bytes, largest: int = LARGEST_MESSAGE) -> bytes:
    """Return a change as `without_large` leaves it."""
    if len(message) <= LARGE_MESSAGE or message[:1] != b"M":
        return message
    prefix = next((one for one in TAKEN if message.startswith(one, PREFIX_AT)), None)
    if prefix is None:
        return message[: PREFIX_AT + 1]
    return message if len(message) <= largest else message[: PREFIX_AT + len(prefix)] + bytes(4)


@dataclass(slots=True)
class Gaps:
    """These are the messages under our prefix that tell of no schema change, because they are not ours.

    most: so many transactions have a gap of their own; the others share one at the end. transactions: how many have
    some. unsaid: those of them without a gap of their own. last: the place of the last one.
    """

    most: int = NO_LIMITS.gaps
    transactions: int = 0
    unsaid: int = 0
    last: Stamp | None = field(default=None)

    def take(self, message: LogicalMessage, at: Stamp, encoding: str) -> Event | None:
        """Return a gap for the first such message of a transaction; None for the others, and where there are many."""
        is_first = self.last is None or self.last.key.lsn != at.key.lsn
        self.last = at
        self.transactions += is_first
        if not is_first or self.transactions > self.most:
            self.unsaid += is_first
            return None
        if len(message.content) <= MOST_TEXT:
            return message_event(message, at, encoding)
        place = (at.key, at.xid, at.committed, at.origin)
        return Event(EventKind.GAP, *place, statement=f"{len(message.content)} bytes that ddlrepl has not signed")

    def events(self) -> list[Event]:
        """Return one gap for all transactions without one of their own."""
        if not self.unsaid or self.last is None:
            return []
        at = self.last
        what = f"messages that ddlrepl has not signed in {self.unsaid} more transactions"
        return [Event(EventKind.GAP, at.key, at.xid, at.committed, at.origin, statement=what)]
