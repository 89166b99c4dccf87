"""A PostgreSQL database as a source: what a cycle asks of it. Preparing it is activation.py's work.

Everything here is a statement over one connection; the rows of the log are read by stream.py.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.policies import DdlCapture, ReplicaIdentity
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.connection.connect import identity, session
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions, replication_protocol, retained_slot, slots
from airflow_ddlrepl.engines.postgres.log import timeline as lineage
from airflow_ddlrepl.engines.postgres.source import activate as activation
from airflow_ddlrepl.engines.postgres.source import helper_schema, membership
from airflow_ddlrepl.engines.postgres.source.activate import Activation
from airflow_ddlrepl.engines.postgres.source.left_out import LeftOut, left_out
from airflow_ddlrepl.engines.postgres.source.publication import published
from airflow_ddlrepl.errors import DdlReplError, SourceError
from airflow_ddlrepl.model.lineage import Lineage
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.rules.client import Client
from airflow_ddlrepl.rules.decide import ChangeKind, decide

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

log = logging.getLogger("ddlrepl")

HEARTBEAT_PREFIX = "ddlrepl.heartbeat"
FLUSH_WAIT_SECONDS = 0.02
NEWS_PEEK_BYTES = 64 << 20
PATIENCE_SECONDS = 20.0
PEEK = "pg_catalog.pg_logical_slot_peek_binary_changes(name, pg_lsn, int, text[])"


@dataclass(eq=False)
class PostgresSource:
    """One channel's source. Its connection opens when first used; `with` or `close()` ends it.

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
    _connection: Connection[Any] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, channel: Channel, dsn: str) -> Self:
        """The source that a channel file describes; dsn: its location, resolved."""
        source = channel.source
        return cls(
            dsn, channel.name, channel.publication, channel.slot, Scope.of(channel), source.replica_identity, source.ddl
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @property
    def connection(self) -> Connection[Any]:
        """In autocommit mode."""
        if self._connection is None or self._connection.closed:
            self._connection = session(self.dsn)
        return self._connection

    def activate(self, *, anew: bool = False, low: Lsn | None = None) -> Activation:
        """Prepares the source: helper schema, publication, replica identities, slot. Again: changes nothing.

        anew: with a new slot, whatever was there. low: where the channel goes on; a slot that no longer can is made
        again from the log that is held, if it is.
        """
        with self._as_error():
            found = activation.activate(self.connection, replace(self._plan(), anew=anew, low=low))
        if found.is_restored and self.connection.info.server_version >= slots.FAILOVER_VERSION:
            replication_protocol.let_fail_over(self.dsn, self.slot)
        return found

    def hold(self, since: Lsn) -> None:
        """The server keeps what commits from there on. Raises SourceError SRC-111 or SRC-118 when it can't."""
        retained_slot.hold(self.connection, self.slot, since)

    def held_from(self) -> Lsn | None:
        """From where on the server keeps log that is captured; None: it does not."""
        return retained_slot.begins(self.connection, self.slot)

    def release(self) -> None:
        """The server may forget what is captured."""
        retained_slot.release(self.connection, self.slot)

    def deactivate(self) -> list[str]:
        """Removes all that `activate` has made; the last channel takes the helper schema with it."""
        with self._as_error():
            return activation.deactivate(self.connection, self._plan())

    def identity(self) -> str:
        """As `connect.identity` tells it."""
        return identity(self.connection)

    def server(self) -> str:
        """The run of the server that answers, as lineage.server tells it. Raises SourceError SRC-113 for a standby."""
        return lineage.server(self.connection)

    def lineage(self, server: str) -> Lineage:
        """Which timelines the log of this run of the server went through; not known where the server does not tell."""
        timeline = int(server.partition("/")[0])
        if timeline == 1:
            return Lineage(1)
        try:
            return Lineage.of_history(timeline, replication_protocol.timeline_history(self.dsn, timeline))
        except (DdlReplError, ValueError) as error:
            told = error.message if isinstance(error, DdlReplError) else str(error)
            log.warning("the source does not tell where its timeline %d branched off: %s", timeline, told)
            return Lineage(timeline, None)

    def check(self, low: Lsn | None = None, publication: int | None = None) -> None:
        """Raises SourceError SRC-10x, with the SQL that mends it, when the log can't be read without loss.

        low: the position to go on from. Raises SRC-141 when the slot has left it behind, SRC-115 when the log ends
        before it. publication: the `foreign_publication` that the log was read by so far.
        """
        preconditions.require_server(over(self.connection))
        preconditions.require_replication(over(self.connection))
        known = helper_schema.known_publication(self.connection, self.channel) or publication
        preconditions.require_publication(over(self.connection), self.publication, known)
        preconditions.require_slot(over(self.connection), self.slot, low)
        if low is not None:
            self.require_log(low)

    def require_log(self, low: Lsn) -> None:
        """Raises SourceError SRC-115: the log that was captured is not this server's (any more)."""
        end = self._lsn("SELECT pg_current_wal_insert_lsn()::text")
        if end < low:
            raise SourceError(
                f"the source's log ends at {end}, and the channel has captured more: the server was set back to an"
                " earlier state, or another one has taken its place",
                code="SRC-115",
                at=low,
                hint="`ddlrepl deactivate`; then `ddlrepl activate` with `existing_tables: replace` for the targets:"
                " every table is loaded anew",
            )

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 where the server would not take the condition. No row is looked at."""
        from airflow_ddlrepl.engines.postgres.connection.conditions import require_readable

        require_readable(self.connection, condition, table, columns)

    def clock(self) -> datetime:
        """The moment now, as transactions that commit here are stamped with."""
        row = self.connection.execute("SELECT clock_timestamp()").fetchone()
        assert row is not None
        now: datetime = row[0]
        return now

    def log_end(self) -> Lsn:
        """Where the log on disk ends. Only asks: `flush_position` is where one may read to."""
        return self._lsn("SELECT pg_current_wal_flush_lsn()::text")

    def flush_position(self) -> Lsn:
        """A position that every transaction that committed before this call lies before, readable at once.

        It stands between two log records, and the log before it is on disk, also what asynchronous commits
        wrote: a range that ends there never misses a commit whose record was only half written.
        """
        inserted = self._lsn("SELECT pg_current_wal_insert_lsn()::text")
        if self.log_end() < inserted:
            time.sleep(FLUSH_WAIT_SECONDS)
        if self.log_end() < inserted:
            with self.connection.transaction():
                self.connection.execute("SET LOCAL synchronous_commit = local")
                self.connection.execute("SELECT pg_logical_emit_message(true, %s, '')", [HEARTBEAT_PREFIX])
        return inserted

    def has_news(self, low: Lsn, high: Lsn) -> bool:
        """Did a transaction with something for this channel commit in [low, high)?

        Says yes without looking when there is much log: reading it once is what capture does anyway.
        Heartbeats are no news. What commits before `low` is, while the slot has not been advanced past it.
        So is a slot that somebody else reads now: whoever reads the log waits for it, or takes a copy.
        """
        if high <= low:
            return False
        if high - low > NEWS_PEEK_BYTES or not self._may_peek():
            return True
        try:
            with slots.lost_is_told(self.connection, self.slot):
                rows = self.connection.execute(
                    "SELECT substr(data, 1, 40) FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL,"
                    " 'proto_version', '1', 'publication_names', %s, 'messages', 'true')"
                    " WHERE get_byte(data, 0) NOT IN (66, 67, 79)",  # all but Begin, Commit, Origin
                    [self.slot, str(high), _publication_list(self.publication)],
                ).fetchall()
        except errors().ObjectInUse:
            return True
        return any(not _is_heartbeat(bytes(data)) for (data,) in rows)

    def wait_for_standbys(self, high: Lsn) -> None:
        """Until those in synchronized_standby_slots have the log.

        Readers of a copy of the slot don't wait for them, and one of the slot itself can't be interrupted meanwhile.
        """
        row = self.connection.execute("SELECT current_setting('synchronized_standby_slots', true)").fetchone()
        if row is not None and row[0]:
            with slots.lost_is_told(self.connection, self.slot):
                self.connection.execute(
                    "SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, 1,"
                    " 'proto_version', '1', 'publication_names', %s)",
                    [self.slot, str(high), _publication_list(self.publication)],
                )

    def _may_peek(self) -> bool:
        row = self.connection.execute("SELECT has_function_privilege(%s, 'EXECUTE')", [PEEK]).fetchone()
        return row is not None and bool(row[0])

    def advance(self, lsn: Lsn) -> None:
        """Lets the server forget what commits before this position, which must be safe in the trail."""
        try:
            slots.advance(self.connection, self.slot, lsn)
        except errors().InsufficientPrivilege:
            options = (("proto_version", "1"), ("publication_names", _publication_list(self.publication)))
            replication_protocol.confirm(self.dsn, self.slot, lsn, options)

    def position(self) -> Lsn:
        """Where the slot stands: nothing before it can be read any more."""
        return preconditions.require_slot(over(self.connection), self.slot).confirmed

    def tend(self) -> dict[int, str]:
        """Joins new tables and mends replica identities where no event trigger did; what became of each table.

        Values as ddlrepl.tend returns them: "published", "filled" (has rows from before), "tracked", "left out".
        A table that another transaction holds is left to the next capture: `publish_late`.
        Empty when the helper schema is not there or not ours, or without the right.
        """
        return membership.tend(self.connection, self.channel) if self._may_look() else {}

    def has_late(self) -> bool:
        """Would `publish_late` have anything to do?"""
        return self._may_look() and membership.has_late(self.connection, self.channel)

    def publish_late(self) -> set[int]:
        """Publish tables that could not be before, because another transaction was in the way, or for another reason.

        Returns ids of those published now, and of those that `forget_late` has not been told of: the log lacks
        some of their rows. A table that still can't be published waits for the next call.
        """
        return membership.publish_late(self.connection, self.channel) if self._may_look() else set()

    def late(self) -> set[int]:
        """What `publish_late` has returned, and `forget_late` has not been told of."""
        return membership.late(self.connection, self.channel) if self._may_look() else set()

    def waiting(self) -> list[TableName]:
        """Tables that `publish_late` could not publish."""
        return membership.waiting(self.connection, self.channel) if self._may_look() else []

    def forget_late(self, table_ids: Set[int]) -> None:
        """These tables wait for a refresh now: that is durable. They may be more than those of `late`."""
        if table_ids and (done := self.late() & table_ids):
            membership.forget_late(self.connection, self.channel, done)

    def _may_look(self) -> bool:
        return helper_schema.present(self.connection).is_readable

    def foreign_publication(self) -> int | None:
        """The id of the publication that an administrator has made; None where our helper schema keeps it."""
        return None if self._may_look() else preconditions.publication_id(over(self.connection), self.publication)

    def published(self) -> set[int]:
        """Ids of the tables whose rows are in the stream; none without a publication."""
        return published(self.connection, self.publication)

    def unpublished_reasons(self) -> dict[int, tuple[TableName, str]]:
        """Tables of the channel whose rows are not in the stream: name and why."""
        if not self._may_look():
            return self._not_in_the_publication()
        rows = self.connection.execute(
            "SELECT table_id::bigint, schema_name, table_name, reason FROM ddlrepl.member"
            " WHERE channel = %s AND reason IS NOT NULL AND reason <> %s ORDER BY 2, 3",
            [self.channel, membership.LATE],
        ).fetchall()
        return {int(i): (TableName(schema, name), reason) for i, schema, name, reason in rows}

    def left_out(self) -> list[LeftOut]:
        """Tables of the channel whose rows are not in the stream now, by name."""
        if self._may_look():
            return left_out(self.connection, self.channel, self.scope)
        return [LeftOut(i, name, why) for i, (name, why) in self._not_in_the_publication().items()]

    def bystanders(self) -> set[int]:
        """Ids of tables that are not in the channel, though a new one of that name would be: they are older.

        Where an administrator has made the publication, those that are not in it.
        """
        if not self._may_look():
            return set(self._not_in_the_publication())
        return self._members("bystander")

    def members(self) -> set[int]:
        """Ids of tables that are in the channel, with their rows or without."""
        return self._members("published", "tracked", "left out") if self._may_look() else set()

    def _members(self, *states: str) -> set[int]:
        rows = self.connection.execute(
            "SELECT table_id::bigint FROM ddlrepl.member WHERE channel = %s AND state = ANY(%s)",
            [self.channel, list(states)],
        ).fetchall()
        return {int(i) for (i,) in rows}

    def _not_in_the_publication(self) -> dict[int, tuple[TableName, str]]:
        rows = self.connection.execute(
            "SELECT c.oid::bigint, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND c.relpersistence <> 't' ORDER BY 2, 3"
        ).fetchall()
        why, there = f"it is not in the publication {self.publication}", self.published()
        names = ((int(i), TableName(schema, name)) for i, schema, name in rows if int(i) not in there)
        return {i: (name, why) for i, name in names if decide(Client(self.scope), name, ChangeKind.DML).is_taken}

    def emit(self, prefix: str, text: str) -> Lsn:
        """Writes a transactional message into the log; returns where."""
        return self._lsn("SELECT pg_logical_emit_message(true, %s, convert_to(%s, 'UTF8'))::text", prefix, text)

    def _lsn(self, query: str, *values: str) -> Lsn:
        row = self.connection.execute(query.encode(), values).fetchone()
        assert row is not None
        return Lsn.parse(row[0])

    @contextmanager
    def _as_error(self) -> Iterator[None]:
        try:
            yield
        except errors().InsufficientPrivilege as error:
            raise SourceError(
                str(error).splitlines()[0],
                code="SRC-105",
                hint="run it as a superuser or as the role that activated; `ddlrepl doctor` lists what is missing",
            ) from None

    def _plan(self) -> activation.SourceSetup:
        return activation.SourceSetup(
            self.channel, self.publication, self.slot, self.scope, self.replica_identity, self.ddl, self.patience
        )


def _publication_list(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_heartbeat(message: bytes) -> bool:
    """Message: 'M', flags, lsn (8 bytes), prefix ending in zero, …"""
    return message[:1] == b"M" and message[10:].startswith(HEARTBEAT_PREFIX.encode() + b"\0")
