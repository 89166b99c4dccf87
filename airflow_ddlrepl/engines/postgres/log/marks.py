"""This module reads and writes the mark of a channel in the helper schema of its source (marks.sql)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.marks import Mark, SourceMark
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.source_marks import SourceMarks

TWO_COMMITS = 80
"""Bytes that the commit records of two transactions take at least: 34 each, which are aligned to 40."""
_WRITES = "SET TRANSACTION READ WRITE"  # of a database that is read-only for its applications; before any query
_DURABLE = "SET LOCAL synchronous_commit = local"
_ADOPT = """
UPDATE ddlrepl.channel c SET publication_id = p.oid FROM pg_catalog.pg_publication p
WHERE p.pubname = c.publication AND c.name = %s AND c.publication_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class PostgresMarks(SourceMarks):
    """The marks of a PostgreSQL source are in its helper schema; see `ports.source_marks.SourceMarks`."""

    connection: Connection[Any]
    channel: str

    def can_have(self) -> bool:
        """Does the helper schema have what marks need? One of an earlier version does not, until `activate`."""
        return self._rows() is not None

    def read(self) -> SourceMark | None:
        """Return the channel's mark; None where there is none."""
        rows = self._rows()
        return SourceMark(Mark(int(rows[0][0]), rows[0][1]), rows[0][2]) if rows else None

    def write(self, mark: Mark, after: str) -> Position | None:
        """Write the mark, durably, and return a position that lies after all that was committed before the call.

        A copy of the source that has the mark has all that commits before the position. So the position lies before the
        mark's commit, or right behind it where nothing else was committed in between: then no log is left unread
        behind it, which an upgrade of the server asks for. None: the source can't have marks.
        """
        if not self.can_have():
            return None
        with self.connection.transaction():
            self.connection.execute(_WRITES)
            self.connection.execute(_DURABLE)
            row = self.connection.execute(
                "SELECT ddlrepl.put_mark(%s, %s, %s, %s)::text", [self.channel, mark.number, mark.token, after]
            ).fetchone()
        if row is None or row[0] is None:
            return None
        before = Position.parse(row[0])
        end = self.connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert end is not None
        behind = Position.parse(end[0])
        return behind if behind - before < TWO_COMMITS else before

    def adopt_publication(self) -> None:
        """Store the id of the publication that is there now: pg_upgrade has given it another one.

        Raises SourceError SRC-105 without the right to.
        """
        try:
            self.connection.execute(_ADOPT, [self.channel])
        except errors().InsufficientPrivilege as error:
            raise SourceError(
                str(error).splitlines()[0], code="SRC-105", hint="run it as the role that activated the channel"
            ) from None

    def _rows(self) -> list[tuple[Any, ...]] | None:
        """Return the channel's row, if it has one; None where the functions are not there."""
        try:
            return self.connection.execute("SELECT * FROM ddlrepl.marked(%s)", [self.channel]).fetchall()
        except (errors().UndefinedFunction, errors().InvalidSchemaName, errors().InsufficientPrivilege):
            return None
