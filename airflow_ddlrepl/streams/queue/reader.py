"""This module reads a queue transaction by transaction, in commit order, as a client that applies messages needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import count, groupby
from typing import NamedTuple

import numpy as np

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, why_ignored
from airflow_ddlrepl.model.position import BEGINNING, END, LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.messages import Message, MessageClass
from airflow_ddlrepl.streams.queue.ddl_lcrs import ddl_lcrs
from airflow_ddlrepl.streams.queue.exact_texts import with_texts
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch
from airflow_ddlrepl.streams.queue.messages import is_message, message_in
from airflow_ddlrepl.streams.queue.row_messages import queued_rows
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.trail.manifest import RowFile, Segment
from airflow_ddlrepl.trail.store import Trail

AT_ONCE = 4096
"""So many rows of a table are evaluated together."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A queued message is one as a client's rules have left it, with its place in the queue.

    message: of a row, the values are exact texts; typed: the same with typed values. shape, key_columns, table_id: of
    the row's table at the source. event: the control record that the message comes from; None: it is of a row. A
    statement about several objects, and an application's message, are one queued message.
    """

    key: LogKey
    message: Message
    typed: Message
    shape: Table | None = None
    key_columns: tuple[str, ...] = ()
    event: Event | None = None
    table_id: int = 0


@dataclass(frozen=True, slots=True)
class QueuedTransaction:
    """A queued transaction has the messages that a client takes of a transaction of the source, in order.

    committed: microseconds since 1970, UTC. messages: to be read before the next transaction is. They raise RuleError
    (RUL-…) at the first one whose rules or transformations can't be evaluated.
    """

    lsn: int
    transaction_id: int
    committed: int
    origin: str
    messages: Iterable[Queued]


class _Item(NamedTuple):
    """An item is a message, or the error that evaluating it gave, in its place."""

    lsn: int
    seq: int
    order: int
    found: Queued | RuleError


class QueueReader:
    """A queue reader reads segments of a feed for a client: what its rules take, as they leave it.

    message_class: of the feed's rows.
    """

    def __init__(
        self,
        trail: Trail,
        stage: ClientStage,
        values: ChangeValues,
        message_class: MessageClass,
        *,
        is_typed: bool,
    ) -> None:
        """is_typed: do values of rows need their types? As `queued_rows` has it."""
        self.stage = stage
        self._trail = trail
        self._values = values
        self._class = message_class
        self._is_typed = is_typed

    def transactions(self, segment: Segment, after: LogKey = BEGINNING) -> Iterator[QueuedTransaction]:
        """Yield the transactions of a segment that the client takes something of, in commit order.

        after: only messages behind it.
        """
        facts = TransactionFacts.of(self._trail.transactions(segment))
        low = after.next
        order = count()
        sources = [self._rows(file, low, facts, next(order)) for file in segment.files() if file.last >= low]
        yield from _transactions(sources, self._events(events_of(self._trail, segment, low), next(order)), facts)

    def transactions_in(
        self, batches: Iterable[LcrBatch], events: Sequence[Event], facts: TransactionFacts
    ) -> Iterator[QueuedTransaction]:
        """Yield the transactions that the client takes something of, as `transactions` does.

        batches, events: all that the transactions have. facts: of the transactions.
        """
        order = count()
        sources = [self._slices(one, facts, next(order)) for one in batches]
        yield from _transactions(sources, self._events(events, next(order)), facts)

    def _rows(self, file: RowFile, low: LogKey, facts: TransactionFacts, order: int) -> Iterator[_Item]:
        layout = Layout(file.table_id, file.schema, file.name, file.identity, file.columns, file.shape)
        for rows in self._trail.batches(file, low, END):
            yield from self._slices(LcrBatch(layout, rows), facts, order)

    def _slices(self, batch: LcrBatch, facts: TransactionFacts, order: int) -> Iterator[_Item]:
        for start in range(0, len(batch), AT_ONCE):
            yield from self._taken(LcrBatch(batch.layout, batch.rows.slice(start, AT_ONCE)), facts, order)

    def _taken(self, batch: LcrBatch, facts: TransactionFacts, order: int) -> Iterator[_Item]:
        try:
            left = self.stage.rows(batch, facts, self._class)
        except RuleError as error:
            yield from self._in_halves(batch, facts, order, error)
            return
        yield from merge(*(self._items(one, facts, order) for one in left), key=lambda item: item[:3])

    def _in_halves(self, batch: LcrBatch, facts: TransactionFacts, order: int, error: RuleError) -> Iterator[_Item]:
        """Yield the items of a batch in which a row is an error, up to that one: what comes before it is well."""
        if len(batch) == 1:
            lsn, seq = (batch.rows[name][0].as_py() for name in ("lsn", "seq"))
            yield _Item(lsn, seq * self.stage.scale, order, error)
            return
        half = len(batch) // 2
        for start, end in ((0, half), (half, len(batch))):
            yield from self._taken(LcrBatch(batch.layout, batch.rows.slice(start, end - start)), facts, order)

    def _items(self, batch: LcrBatch, facts: TransactionFacts, order: int) -> Iterator[_Item]:
        keys = tuple(one.name for one in batch.layout.columns if one.is_key)
        rows = queued_rows(
            batch,
            facts,
            self.stage.database,
            self._values,
            self._class,
            is_typed=self._is_typed,
        )
        for row in rows:
            key = LogKey(row.lsn, row.seq)
            queued = Queued(key, row.texts, row.typed, batch.shape, keys, table_id=batch.layout.table_id)
            yield _Item(row.lsn, row.seq, order, queued)

    def _events(self, events: Iterable[Event], order: int) -> Iterator[_Item]:
        for event in events:
            try:
                one = self.stage.event(event)
                for message in () if why_ignored(one) else _of_event(one, self.stage.database):
                    yield _Item(*one.key, order, Queued(one.key, with_texts(message), message, event=one))
            except RuleError as error:
                yield _Item(*event.key, order, error)


def events_of(trail: Trail, segment: Segment, low: LogKey) -> list[Event]:
    """Return the control records of a segment's transactions from a place on that a client may take, in log order."""
    events = [event for event in trail.events(segment) if event.key >= low and not why_ignored(event)]
    events = [event for event in events if not event.is_inspected]  # these are of no transaction: nobody wrote them
    return sorted(events, key=lambda one: one.key)


def _transactions(
    sources: Sequence[Iterator[_Item]], events: Iterator[_Item], facts: TransactionFacts
) -> Iterator[QueuedTransaction]:
    items = merge(*sources, events, key=lambda item: item[:3])
    for lsn, of_one in groupby(items, key=lambda item: item.lsn):
        at = int(np.searchsorted(facts.lsn, lsn))
        yield QueuedTransaction(
            lsn,
            int(facts.transaction_id[at]),
            int(facts.committed[at]),
            facts.origins[at].as_py() or "",
            _messages(of_one),
        )


def _of_event(event: Event, database: str) -> Sequence[Message]:
    """Return the message of a control record, if it is one: the first LCR of a statement, or an application's own."""
    return [message_in(event)] if is_message(event) else ddl_lcrs(event, database)[:1]


def _messages(items: Iterator[_Item]) -> Iterator[Queued]:
    for item in items:
        if isinstance(item.found, RuleError):
            raise item.found
        yield item.found
