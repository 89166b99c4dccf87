"""Two databases with the same tables: what happens in one is captured, staged and merged into the other."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import psycopg

from airflow_ddlrepl.capture.write_range import LogWriting, RangeTask, write_range
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.log.read_range import PostgresRange
from airflow_ddlrepl.engines.postgres.merge.merge import MergeCounts, Session, merge, prepare_session
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Staged
from airflow_ddlrepl.engines.postgres.types.arrow_values import POSTGRES_VALUES
from airflow_ddlrepl.engines.staging import stage_all
from airflow_ddlrepl.integrate.stage_task import StageTask, buckets_of, sections
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.trail.manifest import RowFile

START, END = LogKey(0, 0), LogKey(1 << 62, 0)


class Pair:
    """source, target: connections in autocommit. user: who merges (a URL), the superuser by default.

    carried: bytes of rows that travel with a task's result, at most.
    """

    carried = 0

    def __init__(self, databases: Any, folder: Path) -> None:
        self.dsn, self.target_dsn, self.folder = databases.source, databases.target, folder
        self.user = self.target_dsn
        self.source = psycopg.connect(self.dsn, autocommit=True)
        self.target = psycopg.connect(self.target_dsn, autocommit=True)
        self.target.execute("create schema ddlrepl")
        self.slot = ""
        self.low = Position(0)

    def both(self, *statements: str) -> None:
        for statement in statements:
            self.source.execute(statement.encode())
            self.target.execute(statement.encode())

    def start(self) -> None:
        """From here on the log counts."""
        self.slot = f"slot_{secrets.token_hex(4)}"
        self.source.execute("create publication pub for all tables")
        row = self.source.execute(
            "select lsn::text from pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot]
        ).fetchone()
        assert row
        self.low = Position.parse(row[0])

    def do(self, *statements: str) -> None:
        """Each in a transaction of its own at the source."""
        for statement in statements:
            self.source.execute(statement.encode())

    def capture(self, wire_format: str = "binary", **more: Any) -> tuple[RowFile, ...]:
        """What happened since the last time."""
        row = self.source.execute("select pg_current_wal_flush_lsn()::text").fetchone()
        assert row
        high = Position.parse(row[0])
        read = PostgresRange(self.low, high, self.dsn, self.slot, "pub", wire_format=wire_format, **more)
        files = write_range(RangeTask(read, 0, LogWriting(self.folder.as_uri(), "shop", 0, 1, self.low))).files
        self.low = high
        return files

    def tasks(self, files: Sequence[RowFile], change: Callable[[Table], Table] = lambda t: t) -> list[StageTask]:
        """One per table; `change` makes the target's shape of the source's. Partitions are tables here."""
        shapes = {table.id: table for table in inspect(self.source)}
        found: dict[int, list[RowFile]] = {}
        for file in files:
            found.setdefault(file.table_id, []).append(file)
        return [
            StageTask(
                self.user,
                self.folder.as_uri(),
                "shop",
                section,
                START,
                END,
                shapes[table_id],
                change(shapes[table_id]),
                shapes[table_id].name,
                f"s_{table_id}",
                POSTGRES_VALUES,
                carried=self.carried,
            )
            for table_id, group in found.items()
            for section in sections(group)
        ]

    def stage(self, tasks: Sequence[StageTask], buckets: int = 1) -> list[Staged]:
        return [stage_together([one])[0] for task in tasks for one in buckets_of(task, buckets)]

    @contextmanager
    def merging(self) -> Iterator[tuple[Any, Session]]:
        with psycopg.connect(self.user) as connection, connection.cursor() as cursor:
            yield cursor, prepare_session(cursor)

    def merge(self, staged: Sequence[Staged]) -> dict[str, MergeCounts]:
        with self.merging() as (cursor, session):
            return {counts.target.name: counts for counts in merge(cursor, staged, session)}

    def replicate(self, *statements: str, buckets: int = 1, **more: Any) -> dict[str, MergeCounts]:
        """Run these at the source and bring them over."""
        self.do(*statements)
        return self.merge(self.stage(self.tasks(self.capture(**more)), buckets))

    def same(self, *names: str, schema: str = "public") -> bool:
        """Are these tables equal, column by column, in PostgreSQL's send format?"""
        return all(
            rows(self.source, TableName(schema, name)) == rows(self.target, TableName(schema, name)) for name in names
        )

    def leftovers(self) -> list[str]:
        return [
            row[0]
            for row in self.target.execute("select relname from pg_class where relnamespace = 'ddlrepl'::regnamespace")
        ]

    def close(self) -> None:
        self.source.close()
        self.target.close()


def stage_together(tasks: Sequence[StageTask]) -> list[Staged]:
    """What PostgreSQL's engine stores of tasks of one target."""
    return cast(list[Staged], stage_all(tasks))


def rows(connection: psycopg.Connection[Any], name: TableName) -> list[tuple[bytes | None, ...]]:
    """Every row as the types' send functions write it, sorted."""
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"TABLE {qualified(name)}".encode())
        result = cursor.pgresult
        assert result
        found = [tuple(result.get_value(i, j) for j in range(result.nfields)) for i in range(result.ntuples)]
    return sorted(found, key=repr)
