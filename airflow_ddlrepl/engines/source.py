"""This module is the port of a source: what the stages ask of a database whose changes they capture, of any engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.retention import NO_LIMITS, Limits
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.source_catalog import LeftOut as LeftOut
from airflow_ddlrepl.engines.source_catalog import RowSelection, SourceCatalog, SourceSnapshot
from airflow_ddlrepl.errors import SourceError, SourcePutBack
from airflow_ddlrepl.model.installation import Installation, Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.log import LogReading
from airflow_ddlrepl.ports.log_identity import LogIdentity
from airflow_ddlrepl.ports.named_sessions import NamedSessions
from airflow_ddlrepl.ports.oldest_commit import OldestCommit
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.source_marks import SourceMarks
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation is what was found and done at the source when a channel was activated.

    position: from here on the log can be read. changes: what was done, for people; empty when nothing was to do.
    is_new: what happened before has to come by a refresh. has_triggers: the log has the schema changes; else shapes
    are compared. is_restored: the log could not be read any more, and can be again without a gap: it was retained.
    """

    position: Position
    changes: tuple[str, ...]
    is_new: bool
    has_triggers: bool
    is_restored: bool


@dataclass(frozen=True, slots=True)
class LogWindow:
    """A log window is a part of the log to read.

    tables: their shapes as far as they are known. log_identity: as the run began with; empty: any. parallelism: how
    many ranges may be read side by side. is_retained: read the log that is retained, not what capture has yet to
    acknowledge. as_text: do not ask for binary values. ignored: sessions whose changes are left out. is_for_queue:
    clients of Streams read it: they take values as texts. limits: of what is read. is_beside: a capture may go on
    meanwhile.
    """

    low: Position
    high: Position
    tables: Sequence[Table]
    log_identity: str = ""
    parallelism: int = 1
    is_retained: bool = False
    as_text: bool = False
    ignored: IgnoredSessions = NO_SESSIONS
    is_for_queue: bool = False
    limits: Limits = NO_LIMITS
    is_beside: bool = False


def log_ends_before(end: Position, low: Position) -> SourcePutBack:
    """Return SourcePutBack SRC-115: the source's log ends before what was captured of it."""
    return SourcePutBack(
        f"the source's log ends at {end}, and the channel has captured more: the server was restored to an"
        " earlier state, or another server has replaced it",
        code="SRC-115",
        at=low,
        hint="if the location leads to a wrong server, correct it. Else `ddlrepl activate --accept source`"
        " loads every table again as the source has it now",
    )


class Membership(NamedSessions, Protocol):
    """The membership says which tables' rows are in the log, and adds tables at sources that log only chosen ones."""

    def published(self) -> set[int]:
        """Return ids of the tables whose rows are in the log."""
        ...

    def installation(self) -> Installation:
        """Return what the channel has set up at the source, as it is now: somebody may have changed it."""
        return Installation()

    def refused_statements(self) -> list[Problem]:
        """Return which of the application's statements the source refuses because of what the channel has set up."""
        return []

    def changed_keys(self) -> list[str]:
        """Return the keys of the channel file that say something else than the source has stored of the file."""
        return []

    def take_over_file(self) -> list[str] | None:
        """Bring the source up to the channel file; return which tables join and leave. None: the role may not."""
        return []

    def unpublished(self) -> list[TableName]:
        """Return the tables that the channel file names and that are not in the channel."""
        return []

    def unpublished_reasons(self) -> dict[int, tuple[TableName, str]]:
        """Return the tables of the channel whose rows are not in the log, by id: name and why."""
        return {}

    def left_out(self) -> list[LeftOut]:
        """Return the tables of the channel whose rows are not in the log now, by name."""
        return []

    def members(self) -> set[int]:
        """Return ids of the tables that are in the channel, with their rows or without."""
        ...

    def bystanders(self) -> set[int]:
        """Return ids of tables that are not in the channel, though a new one of that name would be: they are older."""
        return set()

    def unpublishable(self) -> list[TableName]:
        """Return the tables that `publish_late` could not publish."""
        return []

    def late(self) -> set[int]:
        """Return ids of tables whose first rows the log lacks, and that `forget_late` has not been called with yet."""
        return set()

    def has_late(self) -> bool:
        """Is there anything that `publish_late` would do?"""
        return False

    def publish_late(self) -> set[int]:
        """Publish tables that could not be before; return the ids of `late`, with those that were published now."""
        return set()

    def forget_late(self, table_ids: Set[int]) -> None:
        """Store, durably, that these tables wait for a refresh, so that `late` does not return them any more.

        They may be more than those of `late`.
        """
        return None

    def maintain(self) -> dict[int, str]:
        """Publish new tables that no event has announced; return what was done with each, by id.

        "published", "filled" (has rows from before), "tracked" or "left out".
        """
        return {}

    def await_transactions(self) -> None:
        """Wait until no transaction is open that began before a table was published: its rows are not in the log.

        Raises SourceError SRC-120 when one stays open for too long.
        """
        return None

    def feed_id(self) -> int | None:
        """Return the id of the feed that an administrator has made; None where the channel itself manages its feed."""
        return None


@dataclass(frozen=True, slots=True)
class EveryTable(Membership):
    """Every table's rows are in the log of a source that has not to be told which."""

    catalog: SourceCatalog
    scope: Scope

    def published(self) -> set[int]:
        """Return ids of the tables of the scope."""
        client = Client(self.scope)
        tables = self.catalog.list_tables()
        return {i for i, name in tables.items() if decide(client, name, ChangeKind.TABLE).is_taken}

    def members(self) -> set[int]:
        """Return nothing: which of them have joined, the repository alone knows."""
        return set()


class Source(Protocol):
    """A source is the database whose changes a channel captures. It connects at the first question, until `close`.

    scope: of the channel.
    """

    scope: Scope

    @property
    def membership(self) -> Membership:
        """Return the membership: which tables' rows are in the log."""
        return EveryTable(self.catalog, self.scope)

    @property
    def catalog(self) -> SourceCatalog:
        """Return the catalog: the tables that the source has."""
        ...

    @property
    def marks(self) -> SourceMarks:
        """Return the marks that captures leave at the source."""
        return SourceMarks()

    def looking_once(self) -> AbstractContextManager[None]:
        """Return a context in which it is looked once at whether what was set up at the source is there, and whose."""
        return nullcontext()

    def describe(self) -> str:
        """Return where the source is, without its password."""
        return self.identity()

    def identity(self) -> str:
        """Return a text that is the same after a restart or a fail-over, and another one for another database."""
        ...

    def database(self) -> str:
        """Return a text that only a connection to this very database, in this run of its server, returns as well."""
        return self.identity()

    def server_run(self) -> str:
        """Return a text that changes with a restart, fail-over or recovery of the server, if the source has any.

        Raises SourceError SRC-113.
        """
        return self.identity()

    @property
    def log_identity(self) -> LogIdentity:
        """Return what tells the logs of this kind of source apart."""
        return LogIdentity()

    def clock(self) -> datetime:
        """Return the source's present moment, by the clock that stamps the transactions that commit there."""
        ...

    def log_end(self) -> Position:
        """Return where the log on disk ends."""
        return self.stable_end()

    def log_begin(self) -> Position:
        """Return the position from which on the source has log for the channel."""
        ...

    def stable_end(self) -> Position:
        """Return a position, readable at once, that lies after every transaction committed before this call."""
        ...

    def has_changes(self, low: Position, high: Position) -> bool:
        """Did a transaction with something for this channel commit in [low, high)? Yes, where that is not known."""
        return True

    def oldest_commit(self, low: Position, high: Position) -> OldestCommit:
        """Return when the oldest transaction with something for this channel committed in [low, high)."""
        return OldestCommit(is_known=False)

    def require_readable(self, low: Position, feed: int | None) -> None:
        """Raise SourceError unless the log can be read from a position on without loss.

        feed: as `feed_id` returned it before.
        """
        begin = self.log_begin()
        if low < begin:
            raise SourceError(
                f"the source's log begins at {begin}: what committed before it can't be read",
                code="SRC-141",
                at=low,
                hint="run `ddlrepl activate`, which loads every table again",
            )
        self.require_log(low)

    def require_log(self, low: Position) -> None:
        """Raise SourceError SRC-115 unless the log that was captured up to a position is this server's (still)."""
        end = self.log_end()
        if end < low:
            raise log_ends_before(end, low)

    def read_log(self, window: LogWindow) -> LogReading:
        """Return how a window of the log is read. Raises SourceError where it can't be."""
        ...

    def acknowledge(self, upto: Position) -> None:
        """Let the source forget what commits before this position, which must be safe in the trail."""
        return None

    def missing_rights(self) -> list[Problem]:
        """Return the rights that the role lacks for an activation, and for the runs after it."""
        return []

    def dangers(self) -> list[Problem]:
        """Return what works and should not stay, such as a role with more rights than it needs."""
        return []

    def activation_blockers(self, seconds: float) -> list[Problem]:
        """Return the transactions that an activation would wait for, each with how to end it.

        seconds: only those that have been open for so long already.
        """
        return []

    def activate(self, *, again: bool, low: Position | None) -> Activation:
        """Prepare the source for the channel. Called a second time, it changes nothing.

        again: from a new position, whatever was there. low: where the channel goes on.
        """
        is_new = again or low is None or low < self.log_begin()
        position = self.stable_end() if is_new or low is None else low
        return Activation(position, (), is_new, has_triggers=True, is_restored=False)

    def deactivate(self) -> list[str]:
        """Remove all that `activate` has made; return what was removed, for people."""
        return []

    def snapshot(self, table_ids: Sequence[int], log_identity: str) -> AbstractContextManager[SourceSnapshot]:
        """Open a snapshot; nobody can alter, truncate or drop these tables meanwhile. log_identity: as in LogWindow."""
        ...

    def reading(self, table_ids: Collection[int]) -> AbstractContextManager[Callable[[RowSelection], RowSource]]:
        """Return a function that makes row sources for these tables, as they are when they are read, or later.

        Inside the `with` nobody can make reading them run code that others have written.
        """
        return _whole(self.snapshot(list(table_ids), ""))

    def close(self) -> None:
        """Close the connection; the next question opens another one."""
        return None


@contextmanager
def _whole(opening: AbstractContextManager[SourceSnapshot]) -> Iterator[Callable[[RowSelection], RowSource]]:
    with opening as snapshot:
        yield snapshot.whole
