"""This module exports a snapshot of the source, with the shapes of some tables in it, and their sizes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect, snapshot
from airflow_ddlrepl.engines.postgres.catalog.sizes import LOCK_TIMEOUT
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.load.archive_chunk import archive, require_labels
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows, chunks, rows_of
from airflow_ddlrepl.engines.postgres.log.timeline import require_timeline
from airflow_ddlrepl.engines.source import ArchivePlace, RowSelection
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.trail.loads import LoadedTable

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """An exported snapshot can be read by other sessions while the session that has exported it is open.

    It implements the port `engines.source.SourceSnapshot`. name: by which other sessions read under it.
    """

    dsn: str = field(repr=False)
    name: str
    snapshot: Visibility
    tables: tuple[Table, ...]
    sizes: Mapping[int, int]

    def chunks(self, selection: RowSelection, most: int) -> list[TableRows]:
        """Split a table at its pages; return a row source for each range of them, of about `most` bytes."""
        return chunks(rows_of(self.dsn, selection), self.sizes[selection.table.id], most, self.name)

    def archive(self, tables: Sequence[Table], place: ArchivePlace, runner: Runner) -> tuple[LoadedTable, ...]:
        """Write the rows of these tables into a trail, in COPY's format.

        Raises SourceError SRC-172 when a type was changed meanwhile.
        """
        found = archive(self.chunks, self.sizes, tables, place, runner)
        with session(self.dsn) as connection:
            require_labels(connection, [table for table in tables if table.types])
        return found


@contextmanager
def source_snapshot(
    dsn: str, table_ids: Sequence[int], timeline: int = 0, name: str = "ddlrepl refresh"
) -> Iterator[ExportedSnapshot]:
    """Export a snapshot that stays usable inside the `with`.

    The tables are locked in ACCESS SHARE mode first, as any SELECT does: writers go on, but nobody can alter,
    truncate or drop a table between snapshot and load. (An ALTER that rewrites a table would leave it empty for
    an older snapshot.) LOCK takes no snapshot itself, so what it waited for is seen. A table that is gone is left
    out. DDL on the others waits until the load is done.
    Which transactions the rows contain is known by their ids: a commit record is in the log before its
    transaction becomes visible, so no log position read before the snapshot is certain (low is 0). One read after
    it is: what was visible had its commit record in the log already (high).
    timeline: that the run began with; 0: any. name: of the session.
    Raises SourceError SRC-117 when the log is on another timeline, SRC-171 when a lock can't be had, SRC-105 without
    the right to read.
    """
    with session(dsn, autocommit=False, application_name=name) as connection:
        if timeline:
            require_timeline(connection, timeline)
        names = _locked(connection, table_ids)
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        seen = snapshot(connection)
        tables = inspect(connection, list(names))
        sizes = connection.execute(
            "SELECT i::bigint, pg_relation_size(i) FROM unnest(%s::oid[]) i", [[t.id for t in tables]]
        ).fetchall()
        yield ExportedSnapshot(dsn, str(row[0]), seen, tuple(tables), {int(i): int(size) for i, size in sizes})
        connection.rollback()


def _locked(connection: Connection[Any], table_ids: Sequence[int]) -> dict[int, TableName]:
    """Lock tables by name, then check that the names still mean the same tables; else lock again.

    Waiting for one table holds none of the others for long.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        wanted = _names(connection, table_ids)
        connection.rollback()
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
        try:
            if wanted:
                every = ", ".join(f"ONLY {qualified(name)}" for name in wanted.values())
                connection.execute(f"LOCK TABLE {every} IN ACCESS SHARE MODE".encode())
        except errors().UndefinedTable:
            connection.rollback()
            continue
        except errors().LockNotAvailable:
            connection.rollback()
            if time.monotonic() < deadline:
                continue
            raise SourceError(
                f"a table is locked by a schema change for more than {PATIENCE_SECONDS:g} seconds",
                code="SRC-171",
                hint="SELECT * FROM pg_locks WHERE mode = 'AccessExclusiveLock' tells who; the next run tries again",
                retryable=True,
            ) from None
        except errors().InsufficientPrivilege as error:
            raise SourceError(
                str(error).splitlines()[0],
                code="SRC-105",
                hint="GRANT SELECT on the channel's tables to the source's role; docs/postgresql.md has the statements",
            ) from None
        if _names(connection, list(wanted)) == wanted:
            return wanted
        connection.rollback()


def _names(connection: Connection[Any], table_ids: Sequence[int]) -> dict[int, TableName]:
    rows = connection.execute(
        "SELECT c.oid::bigint, n.nspname, c.relname FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s::oid[])",
        [list(table_ids)],
    ).fetchall()
    return {int(i): TableName(schema, name) for i, schema, name in rows}
