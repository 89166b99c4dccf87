"""This module exports a snapshot of the source, with the shapes of some tables in it, and their sizes.

A refresh takes a snapshot whose place in the log is known by the ids of transactions. An instantiation takes one whose
place is a position.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect, snapshot
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import read_any_bytes
from airflow_ddlrepl.engines.postgres.catalog.readable_tables import (
    PATIENCE_SECONDS,
    held_by_others,
    lock,
    lock_readable,
    not_inspected,
    readable,
)
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import open_snapshot
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.load.archive_chunk import archive, require_labels
from airflow_ddlrepl.engines.postgres.load.held_tables import HeldTables
from airflow_ddlrepl.engines.postgres.load.table_rows import (
    TableRows,
    chunks,
    has_computed,
    needs_query,
    plain,
    rows_of,
)
from airflow_ddlrepl.engines.postgres.log.replication_protocol import command_link, refused
from airflow_ddlrepl.engines.postgres.log.slots import blocked, no_replication, none_free
from airflow_ddlrepl.engines.postgres.log.timeline import require_timeline
from airflow_ddlrepl.engines.source_catalog import Archived, ArchivePlace, RowSelection
from airflow_ddlrepl.errors import SourceError, UnreadableTable
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.ports.work import Runner

OPEN_TRANSACTIONS_SECONDS = 60.0
"""So long a snapshot at a position waits for transactions that are open when it is asked for."""
_SIZES = """
SELECT i::bigint, pg_relation_size(i), EXISTS (SELECT FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_am a ON a.oid = c.relam AND a.amname = 'heap' WHERE c.oid = i AND c.relkind = 'r')
FROM unnest(%s::oid[]) i
"""
_FILES = "SELECT oid::bigint, relfilenode::bigint FROM pg_catalog.pg_class WHERE oid = ANY(%s::oid[])"


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """An exported snapshot can be read by other sessions while the session that has exported it is open.

    It implements the port `engines.source.SourceSnapshot`. name: by which other sessions read under it. refused: why
    tables that were asked for are not among `tables`, by id. empty: those that have no page, as PostgreSQL's own
    tables have before their first row; locked before the snapshot, they have lost none since.
    """

    dsn: str = field(repr=False)
    name: str
    snapshot: Visibility
    tables: tuple[Table, ...]
    sizes: Mapping[int, int]
    held: HeldTables
    refused: Mapping[int, UnreadableTable] = field(default_factory=dict)
    empty: frozenset[int] = frozenset()

    def chunks(self, selection: RowSelection, most: int) -> list[TableRows]:
        """Split a table at its pages; return a row source for each range of them, of about `most` bytes.

        It is read whole, by COPY, where a query over it could run code of its owner.
        Raises SourceError SRC-174 where that can't be.
        """
        table, rows, size = selection.table, rows_of(self.dsn, selection), self.sizes[selection.table.id]
        found = chunks(rows, size, most, self.name)
        if (len(found) > 1 or needs_query(rows, table)) and self.held.may_query(table.id):
            return found
        return [plain(replace(rows, snapshot=self.name, size=size), table)]

    def require_readable(self, selection: RowSelection) -> None:
        """Raise UnreadableTable SRC-174 where no query may read the table, and a COPY does not read its columns."""
        rows = rows_of(self.dsn, selection)
        if has_computed(rows, selection.table) and not self.held.may_query(selection.table.id):
            plain(rows, selection.table)

    def whole(self, selection: RowSelection) -> TableRows:
        """Return one row source for all rows of a table, which queries may read where they run nobody's code."""
        rows = replace(rows_of(self.dsn, selection), snapshot=self.name, size=self.sizes[selection.table.id])
        return replace(rows, is_plain=not self.held.may_query(selection.table.id))

    def archive(self, tables: Sequence[Table], place: ArchivePlace, runner: Runner) -> Archived:
        """Write the rows of these tables into a trail, in COPY's format.

        Raises SourceError SRC-172 when a type was changed meanwhile.
        """
        found = archive(self.chunks, self.sizes, tables, place, runner)
        written = {loaded.table.id for loaded in found.tables}
        with session(self.dsn) as connection:
            require_labels(connection, [table for table in tables if table.types and table.id in written])
        return found


SnapshotAtPosition = AbstractContextManager[tuple[Position, ExportedSnapshot]]


@contextmanager
def source_snapshot(
    dsn: str,
    table_ids: Sequence[int],
    timeline: int = 0,
    name: str = "ddlrepl refresh",
    hold: Callable[[str], HeldTables] = HeldTables,
) -> Iterator[ExportedSnapshot]:
    """Export a snapshot that stays usable inside the `with`.

    The tables are locked in ACCESS SHARE mode first, as any SELECT does: writers go on, but nobody can alter,
    truncate or drop a table between snapshot and load. (An ALTER that rewrites a table would leave it empty for
    an older snapshot.) LOCK takes no snapshot itself, so what it waited for is seen. A table that is gone is left
    out. DDL on the others waits until the load is done.
    Which transactions the rows contain is known by their ids: a commit record is in the log before its
    transaction becomes visible, so no log position read before the snapshot is certain (low is 0). One read after
    it is: what was visible had its commit record in the log already (high).
    timeline: that the run began with; 0: any. name: of the session. hold: returns what says which of them queries
    may read. A table that this role may not read, or that is locked for long, is left out, with the error.
    Raises SourceError SRC-117 when the log is on another timeline, SRC-171 when it is not known which table is locked.
    """
    with session(dsn, autocommit=False, application_name=name) as connection:
        read_any_bytes(connection)
        if timeline:
            require_timeline(connection, timeline)
        found = lock_readable(connection, table_ids)
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        seen = snapshot(connection)
        tables = inspect(connection, list(found.names))
        refused = {**found.refused, **not_inspected(connection, found.names, tables)}
        sizes, empty = _sizes(connection, tables)
        with closing(hold(dsn)) as tables_held:
            yield ExportedSnapshot(dsn, str(row[0]), seen, tuple(tables), sizes, tables_held, refused, empty)
        connection.rollback()


@contextmanager
def snapshot_at_position(
    dsn: str, table_ids: Sequence[int], timeline: int = 0, timeout: float = OPEN_TRANSACTIONS_SECONDS
) -> Iterator[tuple[Position, ExportedSnapshot]]:
    """Export a snapshot that has each transaction whose commit is in front of a position of the log, and no other.

    Its tables have the shapes of that position, and nobody can alter, truncate or drop them inside the `with`. They are
    locked behind the snapshot, because what a slot waits for may itself wait for such a lock; a table that was altered
    or rewritten in between would show nothing, or something else, so all begins again then. A table that is gone is
    left out; one that stays locked, or is altered again and again, is refused, and keeps no other one from its load.
    timeout: seconds to wait for open transactions. Raises what `exported_position` and `source_snapshot` do.
    """
    deadline, held = time.monotonic() + PATIENCE_SECONDS, dict[int, UnreadableTable]()
    with session(dsn, autocommit=False, application_name="ddlrepl instantiate") as connection:
        read_any_bytes(connection)
        while True:
            if timeline:
                require_timeline(connection, timeline)
            with exported_position(dsn, timeout) as (position, name):
                open_snapshot(connection, name)
                found = readable(connection, [i for i in table_ids if i not in held])
            try:
                tables, altered = _unchanged(connection, dsn, found.names)
            except (errors().LockNotAvailable, errors().UndefinedTable):
                tables, altered = None, frozenset()
            if tables is not None:
                break
            connection.rollback()
            if time.monotonic() > deadline:
                held |= held_by_others(connection, found.names, altered)
                deadline = time.monotonic() + PATIENCE_SECONDS
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        seen = snapshot(connection)
        with closing(HeldTables(dsn)) as tables_held:
            sizes, _ = _sizes(connection, tables)
            refused = {**found.refused, **held, **not_inspected(connection, found.names, tables)}
            yield position, ExportedSnapshot(dsn, str(row[0]), seen, tuple(tables), sizes, tables_held, refused)
        connection.rollback()


def _unchanged(
    connection: Connection[Any], dsn: str, names: Mapping[int, TableName]
) -> tuple[list[Table] | None, frozenset[int]]:
    """Lock tables for a snapshot that is open; return their shapes, or which were altered since the snapshot."""
    lock(connection, names.values())
    ids = list(names)
    seen, files = inspect(connection, ids), connection.execute(_FILES, [ids]).fetchall()
    with session(dsn) as other:
        read_any_bytes(other)
        now, later = inspect(other, ids), other.execute(_FILES, [ids]).fetchall()
    altered = frozenset({i for i, _ in {*files} ^ {*later}} | _differing(seen, now))
    return (None if altered else seen), altered


def _differing(some: Sequence[Table], others: Sequence[Table]) -> set[int]:
    """Return the ids of tables that are not the same among both."""
    one, other = ({table.id: table for table in tables} for tables in (some, others))
    return {i for i in one.keys() | other.keys() if one.get(i) != other.get(i)}


def _sizes(connection: Connection[Any], tables: Sequence[Table]) -> tuple[dict[int, int], frozenset[int]]:
    """Return the bytes of each table, and those that are empty."""
    rows = connection.execute(_SIZES, [[table.id for table in tables]]).fetchall()
    sizes = {int(i): int(size) for i, size, _ in rows}
    return sizes, frozenset(int(i) for i, size, is_heap in rows if is_heap and not size)


_TUPLES_OK = 2
_LOCK_NOT_AVAILABLE, _INSUFFICIENT_PRIVILEGE, _NONE_FREE = "55P03", "42501", "53400"


@contextlib.contextmanager
def exported_position(dsn: str, timeout: float) -> Iterator[tuple[Position, str]]:
    """Export a snapshot; it can be taken over by other sessions inside the `with`.

    It contains each transaction whose commit record is in front of the position, and no other: a logical slot, which
    lives as long as the connection, gives both. `timeout`: seconds to wait for transactions that are open now.
    Raises SourceError SRC-110 that names them, SRC-105 without the right to use slots, SRC-111 when none is free.
    """
    name = f"ddlrepl_load_{uuid.uuid4().hex[:16]}"
    with command_link(dsn) as link:
        link.exec_(f"SET lock_timeout = '{int(timeout * 1000)}ms'".encode())
        answer = link.exec_(f"CREATE_REPLICATION_SLOT {name} TEMPORARY LOGICAL pgoutput (SNAPSHOT 'export')".encode())
        if answer.status != _TUPLES_OK:
            raise _explained(dsn, name, answer)
        _, position, snapshot = (_text(answer, column) for column in range(3))
        yield Position.parse(position), snapshot


def _text(result: Any, column: int) -> str:
    return bytes(result.get_value(0, column) or b"").decode()


def _explained(dsn: str, name: str, result: Any) -> SourceError:
    from psycopg.pq import DiagnosticField

    state = bytes(result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    if state == _NONE_FREE:
        return none_free()
    with session(dsn) as connection:
        if state == _LOCK_NOT_AVAILABLE:
            return blocked(connection, name)
        if state == _INSUFFICIENT_PRIVILEGE:
            return no_replication(over(connection))
    return refused(result.error_message.decode(errors="replace"), Position(0))
