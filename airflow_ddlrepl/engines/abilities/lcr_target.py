"""A target of an apply client takes single changes, each source transaction in a transaction, and queues what fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_ddlrepl.ddl.sql.statement_code import Code
    from airflow_ddlrepl.streams.apply_message import ApplyMessage
    from airflow_ddlrepl.streams.condition.tree import Truth
    from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
    from airflow_ddlrepl.streams.messages import DdlLcr, MessageClass, RowLcr
    from airflow_ddlrepl.streams.rules.apply_settings import Instantiation

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """A feed position says up to where an apply client has applied a feed: every transaction that commits before it.

    epoch: of the feed; in another epoch the feed begins again.
    """

    feed: str
    epoch: int
    position: Position


@dataclass(frozen=True, slots=True)
class FailedTransaction:
    """A failed transaction is one of a source that the target refuses. number: of the message that failed, from 0."""

    feed: str
    lsn: Position
    transaction_id: int
    committed: int
    source_database: str
    code: str
    error: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class QueuedError:
    """A queued error is a failed transaction as the error queue holds it.

    number: its number in the queue. messages: how many it has. tries: how often it has been run. since: when it came.
    """

    number: int
    client: str
    failed: FailedTransaction
    messages: int
    tries: int
    since: datetime


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A row condition is a rule's condition for inserts of a table, and how its columns are named at a target.

    about: the table, as the rule has it. columns: the target's columns, by the names that the rule has.
    """

    condition: Truth
    about: TableName
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunAs:
    """This says for a statement that carries code which role runs it at a target.

    kinds: what the statement carries. roles: by schema, as the channel file names them; of another schema its owner.
    """

    kinds: frozenset[Code]
    roles: Mapping[str, str]


class NewTables(Protocol):
    """New tables are made in one open transaction at a target: created, filled, and given their keys."""

    @property
    def facts(self) -> ServerFacts:
        """Return what existed at the target when it was asked for."""
        ...

    def create(self, shape: Table) -> None:
        """Create a table without its keys, with the types and the schema that it needs. Raises ApplyError APL-130."""
        ...

    def fill(self, shape: Table, rows: pa.Table) -> None:
        """Write rows into a table, whose values are texts, by column. Raises ApplyError APL-130."""
        ...

    def finish(self, shape: Table, origins: str) -> str:
        """Give a table its keys, and gather its statistics; return a warning, or an empty text.

        origins: whose rows it has, for the error ApplyError APL-131: where keys collide.
        """
        ...


class NotTogether(Exception):
    """This exception says that changes can't be applied together: the transaction is undone, and they go one by one.

    tables: whose changes never can, as they are at the target; none: it is about these changes.
    """

    def __init__(self, tables: Collection[TableName] = ()) -> None:
        super().__init__(*tables)
        self.tables = frozenset(tables)


class LcrTransaction(Protocol):
    """An LCR transaction is one open transaction at a target.

    Row changes may be collected and sent together: an error, which names its message, may come from a
    later call.
    """

    @property
    def new_tables(self) -> NewTables:
        """Return what creates and fills tables in the transaction."""
        ...

    def row(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        """Apply a row LCR whose values are texts. number: of the message. Raises ApplyError (APL-…), at once or later.

        The row is found by the key of the target's table, by `key_columns`, or by all old values: then one such row.
        """
        ...

    def give_up_at_errors(self) -> None:
        """Let every error undo the whole transaction, also one that a handler has caught: the last `flush` raises it.

        So nothing needs a savepoint, and `row_at_once` may collect changes as `row` does.
        """
        ...

    def row_at_once(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        """Apply a row LCR now. Raises ApplyError (APL-…): then nothing of it is done, and the transaction goes on."""
        ...

    def rows_together(self, batches: Sequence[RowBatch], message_class: MessageClass) -> None:
        """Apply rows whose values are texts set by set: each changes the row that it would change by itself.

        batches: each has the rows of a table in log order, of whole transactions of the source. Raises NotTogether
        where something is in the way, whatever it is; what a lock or the server's trouble raises is as from `row`.
        """
        ...

    def ddl(
        self,
        lcrs: Sequence[DdlLcr],
        search_path: str,
        time_zone: str,
        number: int | None = None,
        run_as: RunAs | None = None,
    ) -> None:
        """Run the text of one statement with the settings of the source's session. Raises ApplyError (APL-…).

        lcrs: one for each object that it is about, of those that the client takes. run_as: None: the target's role.
        """
        ...

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement of a handler's, with `%s` for each parameter; return its rows. Raises ApplyError APL-103."""
        ...

    def enqueue(self, payload: str) -> None:
        """Write a message into the target's log, from where a capture of that database takes it."""
        ...

    def before_handler(self) -> None:
        """Send the row changes that are collected, so that no handler gets their error; not where errors undo all."""
        ...

    def flush(self) -> None:
        """Send the row changes that are collected. Raises ApplyError (APL-…)."""
        ...

    def move(self, client: str, to: FeedPosition) -> None:
        """Write up to where a client has applied a feed."""
        ...

    def store(self, client: str, failed: FailedTransaction, messages: Iterable[ApplyMessage]) -> int:
        """Put a transaction into the error queue; return its number there."""
        ...

    def take(self, number: int) -> QueuedError:
        """Lock a transaction of the error queue until the transaction ends. Raises ApplyError APL-112: no such one."""
        ...

    def messages(self, number: int) -> Iterator[ApplyMessage]:
        """Yield the messages of a transaction in the error queue, in order; other calls may come in between."""
        ...

    def delete(self, number: int) -> None:
        """Remove a transaction from the error queue."""
        ...

    def failed_again(self, number: int, failed: FailedTransaction) -> None:
        """Store the error of another try of a transaction that stays in the error queue."""
        ...

    def instantiate(self, client: str, found: Iterable[Instantiation]) -> None:
        """Write which changes tables have already, in place of what is known of them."""
        ...


class LcrSession(Protocol):
    """An LCR session is a connection to a target for the transactions of one apply client."""

    def run(self, work: Callable[[LcrTransaction], Result]) -> Result:
        """Do the work in a transaction and commit; on an error nothing is done.

        Where a lock can't be had the work is called again. Raises Fenced LCK-102 when a newer run has been here,
        ApplyError (APL-…), TargetError TGT-110.
        """
        ...

    def run_beside(
        self, work: Callable[[LcrTransaction], None], before_commit: Callable[[LcrTransaction], None]
    ) -> None:
        """Do the work in a transaction while other sessions do theirs, then call `before_commit`, and commit.

        It is tried once. Raises what `run` does, or the driver's error where a lock can't be had.
        """
        ...

    def are_apart(self, parts: Sequence[Sequence[RowBatch]], message_class: MessageClass) -> bool:
        """Return whether parts can be applied side by side: none waits for what another one does. False: perhaps one.

        parts: of each the batches that `rows_together` takes.
        """
        ...


@dataclass(frozen=True, slots=True)
class OpenedSessions:
    """Opened sessions write side by side at a target. why_fewer: than asked for; empty: there are as many."""

    sessions: Sequence[LcrSession]
    why_fewer: str = ""


class LcrTarget(Protocol):
    """An LCR target is a database that an apply client writes to, bound to a channel. `close` ends it."""

    def prepare(self, fence: Fence) -> None:
        """Create what is stored of the client, where it is missing, and stop every earlier run from writing here.

        Raises TargetError TGT-102 and TGT-104, Fenced LCK-102.
        """
        ...

    def positions(self, client: str) -> Mapping[str, FeedPosition]:
        """Return up to where a client has applied each feed that it has read, by the feed's name."""
        ...

    def instantiations(self, client: str) -> Sequence[Instantiation]:
        """Return which changes tables have already."""
        ...

    def existing(self, tables: Collection[TableName]) -> set[TableName]:
        """Return which of these tables the target has."""
        ...

    def rows_outside(
        self, table: TableName, conditions: Sequence[Sequence[RowCondition]], source_database: str
    ) -> int | None:
        """Return how many rows of a table are inserts for which in no sequence all conditions are true.

        None: the server can't evaluate one of them, or the table lacks a column. source_database: of the inserts.
        """
        ...

    def errors(self, client: str = "") -> Sequence[QueuedError]:
        """Return the error queue in the order of the commits. client: only this one's."""
        ...

    def messages(self, number: int, most: int) -> Sequence[ApplyMessage]:
        """Return the first messages of a transaction in the error queue. Raises ApplyError APL-112: no such one."""
        ...

    def current_rows(self, lcr: RowLcr, key_columns: Collection[str], most: int) -> list[dict[str, str | None]]:
        """Return the target's rows that an LCR is about, as texts; for an insert those with its key.

        Raises ApplyError (APL-…) where they can't be looked for.
        """
        ...

    def session(self, fence: Fence) -> AbstractContextManager[LcrSession]:
        """Open a session that writes; `prepare` of a later run ends it. Raises ApplyError APL-121."""
        ...

    def sessions(self, fence: Fence, most: int) -> AbstractContextManager[OpenedSessions]:
        """Open sessions that write side by side: as many as the target can tag the changes of, and `most` at most.

        Raises ApplyError APL-121 where it can't tag those of a single one.
        """
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class TakesLcrs(Ability, ABC):
    """An engine takes LCRs where an apply client can write to its databases, change by change."""

    lack = Lack(
        "is no target of an apply client: it takes no single changes",
        "name a PostgreSQL database in `streams: targets`",
        "APL-120",
    )

    @abstractmethod
    def lcr_target(self, location: str, holder: str, lock_timeout: float, owners: tuple[str, ...] = ()) -> LcrTarget:
        """Connect to a target of an apply client. holder: under which name the channel's state is stored there.

        owners: roles that may own what is written to. Raises Unreachable or ConfigError.
        """
