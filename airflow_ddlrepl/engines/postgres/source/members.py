"""This module says which tables are in a channel's publication, and why others are not.

It implements the port `engines.source.Membership` for a PostgreSQL source.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Set
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.policies import DdlCapture, ReplicaIdentity
from airflow_ddlrepl.config.sections.retention import LARGEST_MESSAGE
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.publication import published
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions
from airflow_ddlrepl.engines.postgres.source import file_scope, helper_schema, membership, session_triggers
from airflow_ddlrepl.engines.postgres.source.activate import SourceSetup
from airflow_ddlrepl.engines.postgres.source.installation import installation, refused_statements
from airflow_ddlrepl.engines.postgres.source.left_out import left_out
from airflow_ddlrepl.engines.postgres.source.member_cause import CAUSE, Cause
from airflow_ddlrepl.engines.source import LeftOut
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.installation import Installation, Problem, SessionNames
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

SETTLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PostgresMembership:
    """This membership has the tables of one channel in its publication.

    connection: in autocommit mode. channel: the channel's name.
    """

    connection: Connection[Any]
    channel: str
    publication: str
    scope: Scope
    sessions: IgnoredSessions = NO_SESSIONS
    ddl: DdlCapture = DdlCapture.AUTO
    replica_identity: ReplicaIdentity = ReplicaIdentity.FULL
    message_bytes: int = LARGEST_MESSAGE

    def changed_keys(self) -> list[str]:
        """Return the keys of the channel file that say something else than the source has stored of it."""
        return file_scope.changed_keys(self.connection, self._wanted) if self._may_look() else []

    def take_over_file(self) -> list[str] | None:
        """Bring the source up to the channel file; return which tables join and leave. None: the role may not."""
        if not file_scope.may_change(self.connection, self._wanted):
            return None
        return file_scope.take_over(self.connection, self._wanted)

    def unpublished(self) -> list[TableName]:
        """Return the tables that the channel file names and that are not in the channel."""
        return sorted(file_scope.unpublished(self.connection, self._wanted).values()) if self._may_look() else []

    @property
    def _wanted(self) -> SourceSetup:
        known = (self.channel, self.publication, "", self.scope, self.replica_identity, self.ddl)
        return SourceSetup(*known, patience=0, sessions=self.sessions, message_bytes=self.message_bytes)

    def installation(self) -> Installation:
        """Return what the channel has set up, as `installation.installation` does."""
        return installation(self.connection, self.publication, self.ddl)

    def refused_statements(self) -> list[Problem]:
        """Return which of the application's own statements the server refuses, as `refused_statements` does."""
        return refused_statements(self.connection, self.publication)

    def maintain(self) -> dict[int, str]:
        """Add new tables and mend replica identities where no event trigger did; return what was done with each table.

        Values as ddlrepl.tend returns them: "published", "filled" (has rows from before), "tracked", "left out".
        A table that another transaction holds is left to the next capture: `publish_late`.
        Empty when the helper schema is not there or not ours, or without the right.
        """
        return membership.maintain(self.connection, self.channel) if self._may_look() else {}

    def has_late(self) -> bool:
        """Is there anything that `publish_late` would do?"""
        return self._may_look() and membership.has_late(self.connection, self.channel)

    def publish_late(self) -> set[int]:
        """Publish tables that could not be before, because another transaction was in the way, or for another reason.

        Returns ids of those published now, and of those that `forget_late` has not been called with: the log lacks
        some of their rows. A table that still can't be published waits for the next call.
        """
        return membership.publish_late(self.connection, self.channel) if self._may_look() else set()

    def late(self) -> set[int]:
        """Return ids that `publish_late` has returned, and `forget_late` has not been called with."""
        return membership.late(self.connection, self.channel) if self._may_look() else set()

    def unpublishable(self) -> list[TableName]:
        """Return the tables that `publish_late` could not publish."""
        return membership.unpublishable(self.connection, self.channel) if self._may_look() else []

    def forget_late(self, table_ids: Set[int]) -> None:
        """Store, durably, that these tables wait for a refresh, so that `late` does not return them any more.

        They may be more than those of `late`.
        """
        if table_ids and (done := self.late() & table_ids):
            membership.forget_late(self.connection, self.channel, done)

    def session_names(self) -> SessionNames | None:
        """Return what has the log name the sessions whose changes are ignored; None: the file asks for nothing."""
        if not (self.sessions.has_triggers and self._may_look()):
            return None
        return session_triggers.session_names(self.connection, self.channel, self.sessions)

    def without_session_names(self, again: Collection[int] = ()) -> list[TableName]:
        """Return tables whose changes lack the name or role of an ignored session, though the file asks for it."""
        if not (self.sessions.has_triggers and self._may_look()):
            return []
        return session_triggers.make(self.connection, self.channel, self.sessions, again)

    def _may_look(self) -> bool:
        return helper_schema.find_helper(self.connection).is_readable

    def feed_id(self) -> int | None:
        """Return the id of the publication that an administrator has made; None where our helper schema manages it."""
        return None if self._may_look() else preconditions.publication_id(over(self.connection), self.publication)

    def await_transactions(self) -> None:
        """Wait for the transactions that are open now, for no longer than SETTLE_SECONDS."""
        await_transactions(self.connection, SETTLE_SECONDS)

    def published(self) -> set[int]:
        """Return ids of the tables whose rows are in the log; none without a publication."""
        return published(self.connection, self.publication)

    def unpublished_reasons(self) -> dict[int, tuple[TableName, str]]:
        """Return the tables of the channel whose rows are not in the log, by id: name and why."""
        if not self._may_look():
            return self._not_in_the_publication()
        rows = self.connection.execute(
            "SELECT table_id::bigint, schema_name, table_name, reason FROM ddlrepl.member m"
            f" WHERE channel = %s AND reason IS NOT NULL AND {CAUSE} IS DISTINCT FROM '{Cause.LATE}' ORDER BY 2, 3"
            "".encode(),
            [self.channel],
        ).fetchall()
        return {int(i): (TableName(schema, name), reason) for i, schema, name, reason in rows}

    def left_out(self) -> list[LeftOut]:
        """Return the tables of the channel whose rows are not in the log now, by name."""
        if self._may_look():
            return left_out(self.connection, self.channel, self.scope)
        return [LeftOut(i, name, why) for i, (name, why) in self._not_in_the_publication().items()]

    def bystanders(self) -> set[int]:
        """Return ids of tables that are not in the channel, though a new one of that name would be: they are older.

        Where an administrator has made the publication, those that are not in it.
        """
        if not self._may_look():
            return set(self._not_in_the_publication())
        return self._members("bystander")

    def members(self) -> set[int]:
        """Return ids of tables that are in the channel, with their rows or without."""
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
        feed, out = self.installation().feed, f"it is not in the publication {self.publication}"
        there = feed.tables if feed is not None else {}
        names = ((int(i), TableName(schema, name)) for i, schema, name in rows)
        missing = {i: (name, there[i].lacks if i in there else out) for i, name in names}
        taken = Client(self.scope)
        return {i: one for i, one in missing.items() if one[1] and decide(taken, one[0], ChangeKind.DML).is_taken}


PAUSE_SECONDS = 0.1


def await_transactions(connection: Connection[Any], timeout: float = 60.0) -> None:
    """Wait until every transaction that is open now has ended. Locks nothing.

    A snapshot taken afterwards contains everything that the log does not. Raises SourceError SRC-120 after
    `timeout` seconds, naming who is in the way.
    """
    row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
    assert row is not None
    deadline = time.monotonic() + timeout
    while True:
        done = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [row[0]]).fetchone()
        if done is not None and done[0]:
            return
        if time.monotonic() > deadline:
            raise _in_the_way(connection)
        time.sleep(PAUSE_SECONDS)


def _in_the_way(connection: Connection[Any]) -> SourceError:
    rows = connection.execute(
        "SELECT format('process %s (user %s, since %s)', pid, usename, xact_start) FROM pg_stat_activity"
        " WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
        " UNION ALL SELECT format('prepared transaction %s', gid) FROM pg_prepared_xacts"
    ).fetchall()
    return SourceError(
        f"transactions that began before a table was published are still open: {'; '.join(r[0] for r in rows)}",
        code="SRC-120",
        hint="end them, or run again when they have ended: before that a refresh of the table could miss rows",
        retryable=True,
    )
