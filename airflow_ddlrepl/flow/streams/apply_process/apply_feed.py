"""An apply client applies the transactions of a feed in their order, each exactly once; what fails is queued whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain

from airflow_ddlrepl.engines.abilities.lcr_target import (
    FailedTransaction,
    FeedPosition,
    LcrSession,
    LcrTransaction,
)
from airflow_ddlrepl.errors import ApplyError, RuleError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.flow.streams.apply_process.apply_rules import ApplyRules
from airflow_ddlrepl.flow.streams.apply_process.handlers import Handlers
from airflow_ddlrepl.flow.streams.apply_process.parallel_apply import apply_wave, in_parts, waves
from airflow_ddlrepl.flow.streams.apply_process.spool import Spool
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import DdlLcr, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.reader import QueuedTransaction

TRANSACTIONS, MESSAGES = 200, 2_000
"""So many small transactions of the source, with so many messages, share one transaction at the target."""


@dataclass
class Done:
    """This value counts what an apply client has done: transactions, messages by kind, and transactions that failed."""

    transactions: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Pending:
    """A pending transaction has the messages that the rules have left of it; the target does not have it yet."""

    lsn: Position
    transaction_id: int
    committed: int
    spool: Spool
    kinds: Counter[str]

    @property
    def behind(self) -> Position:
        """Return the position behind the transaction."""
        return self.lsn.next


@dataclass
class FeedApply:
    """This applies one feed at a target. database: the source's name, for the error queue. done: what it did so far.

    others: further sessions, in which transactions are applied at the same time.
    """

    session: LcrSession
    rules: ApplyRules
    handlers: Handlers
    feed: str
    epoch: int
    database: str = ""
    others: Sequence[LcrSession] = ()
    done: Done = field(default_factory=Done)

    @property
    def client(self) -> str:
        """Return the name of the apply client."""
        return self.rules.client.name

    def run(self, transactions: Iterable[QueuedTransaction], low: Position, high: Position) -> Position:
        """Apply transactions from position `low` on, up to `high`; return where the feed stands.

        Raises ApplyError APL-110 behind a transaction that failed, where the client stops at errors; RuleError (RUL-…)
        in front of one that a rule can't transform, or whose condition fails: that one waits.
        """
        with ExitStack() as closing:
            pending: list[_Pending] = []
            at = low
            for one in transactions:
                if one.lsn < low:
                    continue
                spool = closing.enter_context(Spool())
                try:
                    kinds = self._read(one, spool)
                except RuleError as error:
                    self._apply_all(pending)
                    raise undecidable(self.client, one, error) from error
                pending.append(_Pending(Position(one.lsn), one.transaction_id, one.committed, spool, kinds))
                at = Position(one.lsn).next
                if len(pending) >= TRANSACTIONS or sum(len(other.spool) for other in pending) >= MESSAGES:
                    self._apply_all(pending)
                    pending = []
                    closing.close()
            at = max(at, high)
            self._apply_all(pending, at)
        return at

    def _read(self, one: QueuedTransaction, spool: Spool) -> Counter[str]:
        """Put the messages that the client takes into a spool; return how many there are of each kind."""
        kinds: Counter[str] = Counter()
        for incoming in one.messages:
            for message in self.rules.taken(incoming):
                spool.append(message)
                kinds[kind_of(message)] += 1
        return kinds

    def _apply_all(self, pending: Sequence[_Pending], at: Position | None = None) -> None:
        """Apply transactions, side by side where there are sessions for it. at: where the feed stands then."""
        self.handlers.read_ahead(message for one in pending for message in one.spool.in_memory)
        if not self.others:
            self._apply(pending, at)
            return
        sessions = [self.session, *self.others]
        parts = in_parts(pending, len(sessions))
        whole = next(waves(parts, len(sessions), _messages_of), [])
        if len(whole) < len(sessions):
            parts = [[one] for one in pending]
        for wave in waves(parts, len(sessions), _messages_of):
            done = apply_wave(sessions, wave, self._apply_in_order, self._move) if len(wave) > 1 else 0
            self._count_all([one for part in wave[:done] for one in part])
            for part in wave[done:]:
                self._apply(part)
        if at is not None:
            self._apply([], at)

    def _apply_in_order(self, transaction: LcrTransaction, pending: Sequence[_Pending]) -> None:
        if len(pending) > 1:  # each is tried by itself after an error
            transaction.give_up_at_errors()
        for one in pending:
            self._apply_one(transaction, one)

    def _apply_one(self, transaction: LcrTransaction, one: _Pending) -> None:
        apply_messages(transaction, self.handlers, one.spool)
        if one.kinds:
            self.handlers.precommit(transaction, int(one.lsn))

    def _move(self, transaction: LcrTransaction, pending: Sequence[_Pending]) -> None:
        transaction.move(self.client, FeedPosition(self.feed, self.epoch, pending[-1].behind))

    def _apply(self, pending: Sequence[_Pending], at: Position | None = None) -> None:
        """Apply transactions together; where that fails, one by one. at: where the feed stands then."""
        end = at if at is not None else pending[-1].behind if pending else None
        if end is None:
            return

        def together(transaction: LcrTransaction) -> None:
            self._apply_in_order(transaction, pending)
            transaction.flush()
            transaction.move(self.client, FeedPosition(self.feed, self.epoch, end))

        try:
            self.session.run(together)
        except ApplyError as error:
            if len(pending) == 1:
                self._fail(pending[0], error, end)
            if len(pending) <= 1:
                return
        else:
            self._count_all(pending)
            return
        for one in pending:
            self._apply([one])
        if at is not None:
            self._apply([], at)

    def _count_all(self, pending: Sequence[_Pending]) -> None:
        self.count(sum(1 for one in pending if one.kinds), sum((one.kinds for one in pending), Counter()))

    def count(self, transactions: int, kinds: Counter[str]) -> None:
        """Count what is applied and committed. kinds: of messages."""
        reach("apply.committed")
        self.done.transactions += transactions
        self.done.kinds.update(kinds)

    def _fail(self, one: _Pending, error: ApplyError, end: Position) -> None:
        """Put a transaction into the error queue, together with where the feed stands then.

        Raises ApplyError APL-110 where the client stops at errors.
        """
        failed = failed_transaction(self.feed, one.lsn, error, (one.transaction_id, one.committed, self.database))

        def store(transaction: LcrTransaction) -> int:
            number = transaction.store(self.client, failed, one.spool)
            transaction.move(self.client, FeedPosition(self.feed, self.epoch, end))
            return number

        number = self.session.run(store)
        reach("apply.committed")
        self.done.failed += 1
        log.error("apply client %s: transaction %s is in the error queue: %s", self.client, number, error)
        if self.rules.settings.disables_on_error:
            raise disabled(self.client, number, one.lsn, error)


def _messages_of(pending: Sequence[_Pending]) -> Iterator[ApplyMessage]:
    return chain.from_iterable(one.spool for one in pending)


def apply_messages(transaction: LcrTransaction, handlers: Handlers, messages: Iterable[ApplyMessage]) -> None:
    """Apply the messages of a source's transaction in their order. Raises ApplyError with the number of the message."""
    number = 0
    for group in statements(messages):
        handlers.apply(transaction, group, number)
        number += len(group)


def statements(messages: Iterable[ApplyMessage]) -> Iterator[list[ApplyMessage]]:
    """Yield messages one by one, and together the DDL LCRs of one statement, which runs once."""
    group: list[ApplyMessage] = []
    for one in messages:
        if group and not (isinstance(one.message, DdlLcr) and one.key is not None and one.key == group[0].key):
            yield group
            group = []
        group.append(one)
        if not isinstance(one.message, DdlLcr):
            yield group
            group = []
    if group:
        yield group


def kind_of(message: ApplyMessage) -> str:
    """Return what is counted of a message: INSERT, UPDATE, DELETE, DDL or messages."""
    match message.message:
        case RowLcr() as lcr:
            return str(lcr.command).lower()
        case UserMessage():
            return "messages"
    return "ddl"


def failed_transaction(feed: str, lsn: Position, error: ApplyError, facts: tuple[int, int, str]) -> FailedTransaction:
    """Return a transaction that failed. facts: its number, when it committed, its database."""
    code = error.sqlstate or error.code
    return FailedTransaction(feed, lsn, *facts, code, f"{error.message}{_about(error)}", error.number)


def _about(error: ApplyError) -> str:
    return f" [table {error.table}]" if error.table else ""


def disabled(client: str, number: int, at: Position, error: ApplyError) -> ApplyError:
    """Return the error of a client that has stopped behind a transaction that failed."""
    return ApplyError(
        f"apply client {client} is disabled: transaction {number} of its error queue failed: {error.message}",
        code="APL-110",
        table=error.table,
        at=at,
        hint=f"`ddlrepl errors show CHANNEL.yaml {number}` shows it; `errors retry` or `errors delete` with this number"
        " lets the client go on;"
        " set_parameter disable_on_error N lets it go on without that",
    )


def undecidable(client: str, one: QueuedTransaction, error: RuleError) -> ApplyError:
    """Return the error of a client that has stopped in front of a transaction that its rules can't handle."""
    return ApplyError(
        f"apply client {client} is disabled: transaction {one.transaction_id} can't be dequeued: {error.message}",
        code="APL-113",
        table=error.table,
        at=Position(one.lsn),
        hint=f"{error.code}: {error.hint}; nothing of the transaction is applied: the next run tries it again",
    )
