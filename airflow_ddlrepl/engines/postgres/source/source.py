"""This module is a PostgreSQL database as a source: `engines.source.Source` over one connection.

The connection opens when it is needed. What reads rows, from the log or from tables, is imported by who reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.policies import DdlCapture, ReplicaIdentity
from airflow_ddlrepl.config.sections.retention import LARGEST_MESSAGE
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.abilities.of_source import (
    ArchivesRows,
    FeedsQueues,
    GivesRowsAtPosition,
    IgnoresSessions,
    RetainsLog,
    SendsMessages,
    ShowsWriters,
    Writer,
)
from airflow_ddlrepl.engines.abilities.sequences import ShowsSequences
from airflow_ddlrepl.engines.abilities.sync_capture import CapturesBySync
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import read_any_bytes
from airflow_ddlrepl.engines.postgres.catalog.writers import writers
from airflow_ddlrepl.engines.postgres.connection.connect import describe, identity, running, session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions, replication_protocol, retained_slot, slots, timeline
from airflow_ddlrepl.engines.postgres.log.lineage import PostgresLogIdentity, timeline_of
from airflow_ddlrepl.engines.postgres.log.marks import PostgresMarks
from airflow_ddlrepl.engines.postgres.log.retained_slot import PostgresRetainedLog
from airflow_ddlrepl.engines.postgres.log.slot_log import SlotLog
from airflow_ddlrepl.engines.postgres.source import activate as activation
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.engines.postgres.source.catalog import PostgresCatalog
from airflow_ddlrepl.engines.postgres.source.members import PostgresMembership
from airflow_ddlrepl.engines.postgres.source.messages import send, send_alone
from airflow_ddlrepl.engines.postgres.source.privileges import dangers, missing_rights
from airflow_ddlrepl.engines.source import Activation, LogWindow, Source
from airflow_ddlrepl.engines.source_catalog import Archived, ArchivePlace, RowSelection, SourceSnapshot
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.oldest_commit import OldestCommit
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.loads import LoadedTable

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.load.archived_rows import ArchivedRows
    from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows
    from airflow_ddlrepl.engines.postgres.log.read_window import WindowReading
    from airflow_ddlrepl.engines.postgres.sequences.sequences import SourceSequences
    from airflow_ddlrepl.engines.postgres.source.exported_snapshot import ExportedSnapshot, SnapshotAtPosition
    from airflow_ddlrepl.engines.postgres.sync_capture.sync_capture import PostgresSyncCaptures

PATIENCE_SECONDS = 20.0


class _OneConnection:
    """A connection opens when it is first used, and ends with `close` or `with`."""

    dsn: str
    _connection: Connection[Any] | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}

    def close(self) -> None:
        """Close the connection, if one is open."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @property
    def connection(self) -> Connection[Any]:
        """Return the open connection, in autocommit mode."""
        if self._connection is None or self._connection.closed:
            self._connection = session(self.dsn)
            read_any_bytes(self._connection)
        return self._connection


class _ReadsSlot(_OneConnection):
    """The log of a channel is what its slot reads."""

    slot: str
    publication: str

    @property
    def log(self) -> SlotLog:
        """Return the log that the channel's slot reads."""
        return SlotLog(self.connection, self.dsn, self.slot, self.publication)

    def require_log(self, low: Position) -> None:
        """Raise SourceError SRC-115 unless the log that was captured up to `low` is this server's (still)."""
        self.log.require_reaches(low)

    def clock(self) -> datetime:
        """Return the present moment, by the clock that stamps the transactions that commit here."""
        return self.connection.execute("SELECT clock_timestamp()").fetchall()[0][0]  # type: ignore[no-any-return]

    def log_end(self) -> Position:
        """Return the position where the log on disk ends; it may be read up to `stable_end` only."""
        return self.log.end()

    def log_begin(self) -> Position:
        """Return the position from which on the slot has log."""
        return self.log.position()

    def stable_end(self) -> Position:
        """Return a position that lies after every transaction committed before this call; see `SlotLog.stable_end`."""
        return self.log.stable_end()

    def has_changes(self, low: Position, high: Position) -> bool:
        """Did a transaction with something for this channel commit in [low, high)? See `SlotLog.has_changes`."""
        return self.log.has_changes(low, high)

    def oldest_commit(self, low: Position, high: Position) -> OldestCommit:
        """Return when the oldest transaction of [low, high) committed; see `SlotLog.oldest_commit`."""
        return self.log.oldest_commit(low, high)

    def acknowledge(self, upto: Position) -> None:
        """Let the server forget what commits before this position, which must be safe in the trail."""
        self.log.acknowledge(upto)


@dataclass(eq=False)
class PostgresSource(
    _ReadsSlot,
    Source,
    ShowsWriters,
    IgnoresSessions,
    FeedsQueues,
    RetainsLog,
    ArchivesRows,
    ShowsSequences,
    CapturesBySync,
    GivesRowsAtPosition,
    SendsMessages,
):
    """A PostgreSQL source is one channel's source. Its connection opens when first used; `with` or `close()` ends it.

    dsn: a libpq URL. channel: the channel's name. patience: seconds that activation waits for
    transactions that are open (for the slot) and for locks.
    """

    dsn: str = field(repr=False)
    channel: str
    publication: str
    slot: str
    scope: Scope = field(default_factory=Scope)
    replica_identity: ReplicaIdentity = ReplicaIdentity.FULL
    ddl: DdlCapture = DdlCapture.AUTO
    patience: float = PATIENCE_SECONDS
    sessions: IgnoredSessions = NO_SESSIONS
    message_bytes: int = LARGEST_MESSAGE
    _connection: Connection[Any] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, channel: Channel, dsn: str) -> Self:
        """Return the source that a channel file describes; `dsn` is its location, resolved."""
        source = channel.source
        known = (dsn, channel.name, channel.publication, channel.slot, Scope.of(channel))
        sessions, largest = channel.capture.ignore_sessions, channel.limits.message_bytes
        return cls(*known, source.replica_identity, source.ddl, sessions=sessions, message_bytes=largest)

    def activate(self, *, again: bool = False, low: Position | None = None) -> Activation:
        """Prepare the source: helper schema, publication, replica identities, slot. A second time: change nothing.

        again: with a new slot, whatever was there. low: where the channel goes on; a slot that no longer can is made
        again from the log that is held, if it is.
        """
        with _as_source_error():
            found = activation.activate(self.connection, replace(self._plan(), again=again, low=low))
        if found.is_restored and self.connection.info.server_version >= slots.FAILOVER_VERSION:
            replication_protocol.let_fail_over(self.dsn, self.slot)
        return found

    def deactivate(self) -> list[str]:
        """Remove all that `activate` has made, for the last channel the helper schema, too; return what was removed."""
        with _as_source_error():
            return activation.deactivate(self.connection, self._plan())

    @property
    def membership(self) -> PostgresMembership:
        """Return the membership: which tables are in the publication."""
        known = (self.channel, self.publication, self.scope, self.sessions, self.ddl, self.replica_identity)
        return PostgresMembership(self.connection, *known, self.message_bytes)

    @property
    def retained_log(self) -> PostgresRetainedLog:
        """Return the log that a second slot retains."""
        return PostgresRetainedLog(self.connection, self.slot)

    def looking_once(self) -> AbstractContextManager[None]:
        """Return a context in which it is looked once at whether the helper schema is there, and whose."""
        return helper_schema.looked_at_once(self.connection)

    def describe(self) -> str:
        """Return `user@host:port/database`, never the password."""
        return describe(self.dsn)

    def identity(self) -> str:
        """Return a text that identifies the server and the database, as `connect.identity` does."""
        return identity(self.connection)

    def database(self) -> str:
        """Return a text that identifies the database and the run of its server, as `connect.running` does."""
        return running(self.connection)

    def missing_rights(self) -> list[Problem]:
        """Return what the role lacks, each with the SQL that grants it."""
        return missing_rights(self.connection, self.scope, self.publication, self.ddl)

    def dangers(self) -> list[Problem]:
        """Return what works and should not stay, as `privileges.dangers` does."""
        return dangers(self.connection)

    def activation_blockers(self, seconds: float) -> list[Problem]:
        """Return the transactions that the slot would wait for, each with the SQL that ends it; none when it exists."""
        found = slots.blockers(self.connection, seconds) if slots.state(self.connection, self.slot) is None else ()
        return [Problem(what, end) for what, end in found]

    def writers(self, seconds: float = 0) -> list[Writer]:
        """Return who has written and not committed yet, as `writers.writers` does."""
        return writers(self.connection, seconds)

    @property
    def catalog(self) -> PostgresCatalog:
        """Return the catalog: the tables that the database has."""
        return PostgresCatalog(self.connection, self.publication)

    @property
    def marks(self) -> PostgresMarks:
        """Return the marks that captures leave at the source."""
        return PostgresMarks(self.connection, self.channel)

    @property
    def sync_captures(self) -> PostgresSyncCaptures:
        """Return the synchronous captures of the channel."""
        from airflow_ddlrepl.engines.postgres.sync_capture.sync_capture import PostgresSyncCaptures

        return PostgresSyncCaptures(self.connection, self.channel)

    @property
    def sequences(self) -> SourceSequences:
        """Return the sequences that the database has."""
        from airflow_ddlrepl.engines.postgres.sequences.sequences import SourceSequences

        return SourceSequences(self.connection)

    def read_log(self, window: LogWindow) -> WindowReading:
        """Return how a window of the log is read: in ranges side by side; in text format when a type needs that."""
        from airflow_ddlrepl.engines.postgres.log.read_range import choose_reader
        from airflow_ddlrepl.engines.postgres.log.read_window import LogReader, read_window

        if not window.is_beside:
            self.log.wait_for_standbys(window.high)
        slot = retained_slot.held_name(self.slot) if window.is_retained else self.slot
        reader = LogReader(self.dsn, slot, self.publication, choose_reader(self.connection))
        return read_window(reader, window)

    def snapshot(self, table_ids: Sequence[int], log_identity: str = "") -> AbstractContextManager[ExportedSnapshot]:
        """Open a snapshot of these tables, as `exported_snapshot.source_snapshot` does."""
        from airflow_ddlrepl.engines.postgres.source.exported_snapshot import source_snapshot

        return source_snapshot(self.dsn, table_ids, timeline_of(log_identity))

    def snapshot_at_position(self, table_ids: Sequence[int], log_identity: str = "") -> SnapshotAtPosition:
        """Open a snapshot of these tables, as `exported_snapshot.snapshot_at_position` does."""
        from airflow_ddlrepl.engines.postgres.source.exported_snapshot import snapshot_at_position

        return snapshot_at_position(self.dsn, table_ids, timeline_of(log_identity))

    def archive(self, of: SourceSnapshot, tables: Sequence[Table], place: ArchivePlace, runner: Runner) -> Archived:
        """Write a snapshot's rows of these tables into a trail, by COPY."""
        from airflow_ddlrepl.engines.postgres.source.exported_snapshot import ExportedSnapshot

        assert isinstance(of, ExportedSnapshot), "it is one of this source"
        return of.archive(tables, place, runner)

    def archived(self, trail_url: str, channel: str, loaded: LoadedTable) -> Sequence[ArchivedRows]:
        """Return row sources for the files of a table in a trail that a COPY has filled."""
        from airflow_ddlrepl.engines.postgres.load.archived_rows import archived_rows

        return archived_rows(trail_url, channel, loaded)

    def reading(self, table_ids: Collection[int]) -> AbstractContextManager[Callable[[RowSelection], TableRows]]:
        """Return a function that makes row sources of held tables, as `held_tables.reading` does."""
        from airflow_ddlrepl.engines.postgres.load.held_tables import reading

        return reading(self.dsn, table_ids)

    def server_run(self) -> str:
        """Return a text for the run of the server, as `timeline.server` does. Raises SourceError SRC-113: a standby."""
        return timeline.server(self.connection)

    @property
    def log_identity(self) -> PostgresLogIdentity:
        """Return what tells this server's log from others."""
        return PostgresLogIdentity(self.dsn)

    def require_readable(self, low: Position | None = None, feed: int | None = None) -> None:
        """Raise SourceError SRC-10x, with the SQL that mends it, unless the log can be read without loss.

        low: the position to go on from. Raises SRC-141 when the slot has left it behind, SRC-115 when the log ends
        before it. feed: the `feed_id` that the log was read by so far.
        """
        preconditions.require_server(over(self.connection))
        preconditions.require_replication(over(self.connection))
        known = helper_schema.known_publication(self.connection, self.channel) or feed
        preconditions.require_publication(over(self.connection), self.publication, known)
        preconditions.require_slot(over(self.connection), self.slot, low)
        if low is not None:
            self.require_log(low)

    def send(self, payloads: Sequence[str], within: Any = None) -> None:
        """Write messages for queues into the log, in the caller's transaction, or in one of their own."""
        send(payloads, within) if within is not None else send_alone(self.connection, payloads)

    def _plan(self) -> activation.SourceSetup:
        known = (self.channel, self.publication, self.slot, self.scope, self.replica_identity, self.ddl)
        sessions, largest = self.sessions, self.message_bytes
        return activation.SourceSetup(*known, self.patience, sessions=sessions, message_bytes=largest)


@contextmanager
def _as_source_error() -> Iterator[None]:
    try:
        yield
    except errors().InsufficientPrivilege as error:
        raise SourceError(
            str(error).splitlines()[0],
            code="SRC-105",
            hint="run it as the role that activated, with --no-refresh if that is a superuser; `ddlrepl doctor` lists"
            " what is missing",
        ) from None
