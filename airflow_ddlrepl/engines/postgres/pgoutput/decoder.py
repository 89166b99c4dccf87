"""This module decodes the pgoutput stream of one session, batch after batch of messages.

Keys: LogKey(commit record, ordinal). The ordinal counts the messages of a transaction that the log
itself holds (inserts, updates, deletes, truncates, logical messages), not those that a session repeats
at will (relations, types, origins): so the same change has the same key however the log was split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, Session
from airflow_ddlrepl.engines.postgres.pgoutput import control_messages
from airflow_ddlrepl.engines.postgres.pgoutput.batch import (
    Batch,
    OpenTransaction,
    by_table,
    left_open,
    stamp,
    transactions,
)
from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import wire_types
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import Malformed
from airflow_ddlrepl.engines.postgres.pgoutput.few_rows import batches
from airflow_ddlrepl.engines.postgres.pgoutput.gaps import Gaps, taken
from airflow_ddlrepl.engines.postgres.pgoutput.ignored import IgnoredTransactions, is_role
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import NoSignatures, Signatures
from airflow_ddlrepl.engines.postgres.pgoutput.queue_messages import UnsignedMessages, is_for_queues
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import Compiled, compile_layout, is_ours
from airflow_ddlrepl.engines.postgres.pgoutput.row_messages import DELETE, INSERT, UPDATE
from airflow_ddlrepl.engines.postgres.pgoutput.wire import Ints, Messages
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.ports.row_layout import Layout

EPOCH_2000 = 946_684_800_000_000
BEGIN, COMMIT, RELATION, TYPE, ORIGIN, MESSAGE, TRUNCATE = b"BCRYOMT"
_COUNTED = np.zeros(256, np.bool_)
_COUNTED[[INSERT, UPDATE, DELETE, MESSAGE, TRUNCATE]] = True
_ROW = np.zeros(256, np.bool_)
_ROW[[INSERT, UPDATE, DELETE]] = True
_COMMON = _ROW.copy()
_COMMON[[BEGIN, COMMIT]] = True
_LEAST = np.full(256, 1, np.int64)
_LEAST[[INSERT, UPDATE, DELETE]] = 8
_LEAST[BEGIN], _LEAST[COMMIT] = 21, 26


@dataclass(frozen=True, slots=True)
class Decoded:
    """This value has what one batch of messages contained.

    rows: per layout in log order. events: control records. transactions: those that ended. begun: all that the batch
    has changes of, where `shows_begun` asks for them.
    """

    rows: list[tuple[Layout, pa.RecordBatch]]
    events: list[Event]
    transactions: pa.RecordBatch | None
    begun: pa.RecordBatch | None = None


class Decoder:
    """A decoder turns messages into rows, events and transactions with low <= commit position < high.

    wire_format: "binary" or "text", as the stream was asked for. types: enums and domains → built-in
    type (see `wire_types`). encoding: of the database, for what logical messages hold. signatures: tell ours.
    ignored: which transactions are left out; their DDL is not, but marked.
    Raises SourceError SRC-160 with the position when a message is not understood, NeedsText SRC-150.
    """

    def __init__(
        self,
        low: Position,
        high: Position,
        wire_format: str,
        types: Mapping[int, int],
        encoding: str = "utf-8",
        signatures: Signatures | None = None,
        ignored: IgnoredTransactions | None = None,
    ) -> None:
        self._low, self._high = low, high
        self._format = wire_format
        self._types = dict(types)
        self._encoding = encoding
        self._signatures = signatures or NoSignatures()
        self._ignored = ignored or IgnoredTransactions(NO_SESSIONS)
        self.unsigned, self.gaps = UnsignedMessages(), Gaps()
        self._relations: dict[int, control_messages.Relation] = {}
        self._texts: dict[int, bytes] = {}
        self._compiled: dict[control_messages.Relation, Compiled] = {}
        self._open: OpenTransaction | None = None
        self._at = int(low)
        self.bytes_read, self.shows_begun = 0, False

    def feed(self, array: pa.Array) -> Decoded:
        """Decode the next messages, each one element of a binary array."""
        if not len(array):
            return Decoded([], [], None)
        data = Messages(array)
        self.bytes_read += data.size
        try:
            one = self._split(data)
            events = [self._ignored.mark(event) for event in self._control(one)]
            rows = list(self._rows(one))
            ended = self._ended(one)
            self._ignored.forget_all_but(self._open.lsn if self._open else 0)
            return Decoded(rows, events, ended, _all(one) if self.shows_begun else None)
        except (Malformed, IndexError, pa.ArrowInvalid) as error:
            raise _not_understood(str(error) or "a message ends early", self._at) from error

    def finish(self) -> None:
        """End the decoding. Raises SourceError SRC-160 when the stream ends inside a transaction."""
        if self._open is not None:
            raise _not_understood("the stream ends inside a transaction", self._at)

    def _split(self, data: Messages) -> Batch:
        lengths = data.ends - data.starts
        if not (lengths > 0).all():
            raise Malformed("an empty message")
        tags = data.bytes[data.starts]
        if (lengths < _LEAST[tags]).any():
            raise Malformed("a message ends early")
        begins = np.flatnonzero(tags == BEGIN)
        place = data.starts[begins]
        head = self._open or OpenTransaction(0, 0, 0, "", 0, 0)
        number = np.cumsum(tags == BEGIN)
        counted = np.cumsum(_COUNTED[tags])
        base = np.concatenate(([-head.counted], counted[begins]))
        lsn = np.concatenate(([head.lsn], data.gather(">i8", place + 1)))
        inside = (lsn >= self._low) & (lsn < self._high)
        inside[0] &= self._open is not None
        return Batch(
            data=data,
            tags=tags,
            number=number,
            seq=counted - 1 - base[number],
            lsn=lsn,
            xid=np.concatenate(([head.xid], data.gather(">u4", place + 17).astype(np.int64))),
            committed=np.concatenate(([head.committed], data.gather(">i8", place + 9).astype(np.int64) + EPOCH_2000)),
            inside=inside,
            origins={0: head.origin} if head.origin else {},
            changes=np.concatenate(([head.changes], np.zeros(len(begins), np.int64))),
            rare=_rare(data, tags),
        )

    def _control(self, one: Batch) -> list[Event]:
        """Decode the rare messages of a batch: store relations and origins.

        Return the control records of the window.
        """
        events: list[Event] = []
        ours = _signed(one, self._signatures)
        for index in one.rare:
            tag, message = int(one.tags[index]), one.data.message(index)
            self._at = int(one.lsn[one.number[index]]) or self._at
            if tag == RELATION:
                self._relation(one, index, message)
            elif tag == ORIGIN:
                number = int(one.number[index])
                one.origins[number] = control_messages.origin(message)
                self._ignored.see(Session.ORIGIN, one.origins[number], int(one.lsn[number]), is_late=False)
            elif tag in (MESSAGE, TRUNCATE):
                if event := self._event(one, index, tag, message, is_genuine=index in ours):
                    events.append(event)
            elif tag != TYPE:
                raise Malformed(f"an unknown message {chr(tag)!r}")
        return events

    def _relation(self, one: Batch, index: int, message: bytes) -> None:
        number = int.from_bytes(message[1:5], "big")
        if self._texts.get(number) == message:
            return
        relation = control_messages.relation(message)
        before = self._relations.get(number)
        one.relations.setdefault(number, [(-1, before)] if before else []).append((index, relation))
        self._relations[number], self._texts[number] = relation, message

    def _event(self, one: Batch, index: int, tag: int, message: bytes, *, is_genuine: bool) -> Event | None:
        number, at = int(one.number[index]), stamp(one, index)
        if tag == TRUNCATE:
            return _truncate(message, self._known, at) if one.inside[number] else None
        logical = control_messages.logical_message(message)
        is_late = number == 0 and self._open is not None and self._open.counted > 0
        if self._ignored.see_message(logical, at, self._encoding, is_genuine=is_genuine, is_late=is_late):
            return None
        if logical.transactional:
            is_inside = bool(one.inside[number])
        else:
            # It stands alone and carries its record's end, maybe the next commit's start: key it inside its
            # record. The server leaves out what starts at or after `high`; a record across it is still ours.
            at = control_messages.Stamp(LogKey(logical.lsn - 1, 0), 0, 0, "")
            is_inside = logical.lsn > self._low
        if is_for_queues(logical):
            return self.unsigned.unless_signed(logical, at, is_genuine=is_genuine) if is_inside else None
        if not is_inside or not control_messages.is_ddl_record(logical):
            return None
        if not is_genuine:
            return self.gaps.take(logical, at, self._encoding)
        event = control_messages.message_event(logical, at, self._encoding, is_ours=True)
        self._types.update(wire_types(event.tables))
        if event.kind is EventKind.DDL:
            self._ignored.see_event(event, is_late=is_late)
        return event

    def _known(self, number: int) -> control_messages.Relation:
        relation = self._relations.get(number)
        if relation is None:
            raise Malformed(f"rows of relation {number} come before its description")
        return relation

    def _rows(self, one: Batch) -> Iterator[tuple[Layout, pa.RecordBatch]]:
        is_row = _ROW[one.tags]
        if self._open is None and bool((is_row & (one.number == 0)).any()):
            raise Malformed("a row is outside of a transaction")
        index = _without_ignored(one, np.flatnonzero(is_row & one.inside[one.number]), self._ignored, self._known)
        if not len(index):
            return
        table = one.data.gather(">u4", one.data.starts[index] + 1)
        groups = [same for number, rows in by_table(table, index) for same in self._by_layout(one, number, rows)]
        theirs = [(relation, rows) for relation, rows in groups if not is_ours(relation)]
        if theirs:
            number = one.number[np.concatenate([rows for _, rows in theirs])]
            one.changes += np.bincount(number, minlength=len(one.changes))
        tables = [(self._layout(relation), rows) for relation, rows in theirs]
        decoded = batches(one, tables)
        for compiled, rows in tables:
            self._at = int(one.lsn[one.number[rows[0]]])
            yield compiled.layout, next(decoded)

    def _by_layout(self, one: Batch, number: int, rows: Ints) -> list[tuple[control_messages.Relation, Ints]]:
        changes = one.relations.get(number)
        if changes is None:
            return [(self._known(number), rows)]
        places = np.searchsorted(rows, [place for place, _ in changes])
        if places[0] > 0:
            raise Malformed(f"rows of relation {number} come before its description")
        ends = [*places[1:], len(rows)]
        return [(r, rows[a:b]) for (_, r), a, b in zip(changes, places, ends, strict=True) if b > a]

    def _layout(self, relation: control_messages.Relation) -> Compiled:
        if relation not in self._compiled:
            self._compiled[relation] = compile_layout(relation, self._format, self._types)
        return self._compiled[relation]

    def _ended(self, one: Batch) -> pa.RecordBatch | None:
        """Return the transactions that ended in the batch and lie in the window.

        The last one stays open if it didn't end.
        """
        ends = one.number[one.tags == COMMIT]
        first = 0 if self._open is not None else 1
        if not np.array_equal(ends, np.arange(first, first + len(ends))) or len(one.lsn) - first - len(ends) not in (
            0,
            1,
        ):
            raise Malformed("begin and commit do not alternate")
        self._open = left_open(one) if len(ends) < len(one.lsn) - first else None
        done = ends[one.inside[ends]]
        if not len(done):
            return None
        return transactions(one, done)


def _truncate(
    message: bytes, relation_of: Callable[[int], control_messages.Relation], at: control_messages.Stamp
) -> Event | None:
    ids, cascade, restart = control_messages.truncated(message)
    names = tuple((r.id, r.name) for r in map(relation_of, ids) if not is_ours(r))
    return control_messages.truncate_event(names, cascade, restart, at) if names else None


def _without_ignored(
    one: Batch, index: Ints, by: IgnoredTransactions, relation_of: Callable[[int], control_messages.Relation]
) -> Ints:
    """Return the rows whose transactions are not ignored, and count the others."""
    ignored = by.among(one.lsn)
    if ignored is None:
        return index
    left = index[ignored[one.number[index]]]
    for table_id, rows in by_table(one.data.gather(">u4", one.data.starts[left] + 1), left):
        relation = relation_of(table_id)
        if not is_ours(relation):
            number = one.number[rows]
            by.count(table_id, relation.name, one.tags[rows], [one.lsn[number], one.xid[number], one.committed[number]])
    return index[~ignored[one.number[index]]]


def _signed(one: Batch, signatures: Signatures) -> set[int]:
    """Return which messages of a batch have our signature, of those that need it to be believed."""
    claims: dict[int, bytes] = {}
    for index in one.rare:
        if one.tags[index] != MESSAGE or not one.inside[one.number[index]]:
            continue
        logical = control_messages.logical_message(one.data.message(index))
        if control_messages.is_ddl_record(logical) or is_for_queues(logical) or is_role(logical):
            claims[index] = logical.content
    answers = signatures.verify(list(claims.values())) if claims else []
    return {index for index, is_genuine in zip(claims, answers, strict=True) if is_genuine}


def _rare(data: Messages, tags: npt.NDArray[np.uint8]) -> list[int]:
    """Return the messages of a batch that are looked at one by one: neither rows nor what no client takes."""
    messages = np.flatnonzero(tags == MESSAGE)
    others = np.flatnonzero(~_COMMON[tags] & (tags != MESSAGE))
    return cast("list[int]", np.sort(np.concatenate((others, messages[taken(data, messages)]))).tolist())


def _all(one: Batch) -> pa.RecordBatch:
    return transactions(one, np.arange(len(one.lsn)))


def _not_understood(why: str, at: int) -> SourceError:
    return SourceError(
        f"the source's change stream can't be decoded: {why}",
        code="SRC-160",
        at=Position(at),
        hint="nothing was stored; run the cycle again, and report this if it happens again",
    )
