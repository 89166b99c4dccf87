"""A snapshot at a position has exactly the transactions whose commit is in front of it, in the shapes of then."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.abilities.of_source import GivesRowsAtPosition
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.postgres.catalog import readable_tables
from airflow_ddlrepl.engines.postgres.source import exported_snapshot
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import ExportedSnapshot, snapshot_at_position
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.errors import SourceError, Unsupported
from airflow_ddlrepl.model.position import Position
from tests.support.replica import BOTH, run


def ids(dsn: str, *tables: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [connection.execute("SELECT %s::regclass::oid::int", [one]).fetchone()[0] for one in tables]  # type: ignore[index]


def numbers(seen: ExportedSnapshot) -> set[int]:
    (table,) = seen.tables
    chunks = seen.chunks(RowSelection(table, ("id",)), sys.maxsize)
    return {int(one) for chunk in chunks for batch in chunk.batches() for one in batch.column("id").to_pylist()}


@contextmanager
def writers(dsn: str, count: int) -> Iterator[None]:
    """Sessions that insert one row after the other, some of them in transactions with a savepoint."""
    ended = threading.Event()

    def write(first: int) -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            number = first
            while not ended.is_set():
                with connection.transaction(), connection.transaction():
                    connection.execute("INSERT INTO t VALUES (%s)", [number])
                number += count

    threads = [threading.Thread(target=write, args=(n,)) for n in range(count)]
    for one in threads:
        one.start()
    try:
        yield
    finally:
        ended.set()
        for one in threads:
            one.join()


def commits(dsn: str, slot: str) -> Mapping[int, int]:
    """For each row of the log the position of its commit."""
    query = "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version', '1',"
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(f"{query} 'publication_names', 'p')".encode(), [slot]).fetchall()
    found, lsn = {}, 0
    for (data,) in rows:
        if data[:1] == b"B":
            (lsn,) = struct.unpack_from(">Q", data, 1)
        if data[:1] == b"I":
            (size,) = struct.unpack_from(">I", data, 9)
            found[int(data[13 : 13 + size])] = lsn
    return found


@BOTH
def test_writers_are_in_it_up_to_the_position_and_no_further(databases: Any) -> None:
    dsn = databases.source
    run(dsn, "CREATE TABLE t (id int PRIMARY KEY)", "CREATE PUBLICATION p FOR TABLE t")
    run(dsn, "SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
    try:
        found: list[tuple[Position, set[int]]] = []
        with writers(dsn, 4):
            for _ in range(6):
                with snapshot_at_position(dsn, ids(dsn, "t")) as (position, seen):
                    found.append((position, numbers(seen)))
        of = commits(dsn, "s")
        for position, rows in found:
            assert rows == {number for number, lsn in of.items() if lsn < position}
        assert len(found[-1][1]) > len(found[0][1])
    finally:
        run(dsn, "SELECT pg_drop_replication_slot('s')")


def test_an_open_transaction_is_waited_for_and_named(databases: Any) -> None:
    run(databases.source, "CREATE TABLE t (id int)")
    with psycopg.connect(databases.source) as other:
        other.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(SourceError) as error, snapshot_at_position(databases.source, [], timeout=0.2):
            pass
        assert error.value.code == "SRC-110" and str(other.info.backend_pid) in error.value.hint
    with snapshot_at_position(databases.source, ids(databases.source, "t")) as (_, seen):
        assert numbers(seen) == {1}


def test_nobody_alters_a_table_while_it_is_open_and_no_slot_stays(databases: Any) -> None:
    run(databases.source, "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    with (
        snapshot_at_position(databases.source, ids(databases.source, "t")) as (_, seen),
        psycopg.connect(databases.source, autocommit=True) as other,
    ):
        slots = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        assert other.execute(slots.encode()).fetchone() == (0,)
        other.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute("TRUNCATE t")
        other.execute("DELETE FROM t")
        assert numbers(seen) == {1}


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("ALTER TABLE t ADD more int", ["id", "more"]),
        ("ALTER TABLE t ALTER id TYPE bigint", ["id"]),
        ("VACUUM FULL t", ["id"]),
        ("ALTER TABLE t RENAME TO other", ["id"]),
        ("DROP TABLE t", None),
    ],
)
def test_a_table_that_is_altered_behind_the_snapshot_gets_another_one(
    statement: str, columns: list[str] | None, databases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(databases.source, "CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)")
    (table,) = ids(databases.source, "t")
    lock = readable_tables.lock
    calls: list[Any] = []

    def altered(connection: Any, names: Any) -> None:
        if not calls:
            run(databases.source, statement)
        calls.append(names)
        lock(connection, names)

    monkeypatch.setattr(exported_snapshot, "lock", altered)
    with snapshot_at_position(databases.source, [table]) as (_, seen):
        assert [[one.name for one in table.columns] for table in seen.tables] == ([] if columns is None else [columns])
        assert columns is None or numbers(seen) == {1}
    assert len(calls) == 2


def test_a_table_that_stays_locked_is_told(databases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: Any) -> None:
        raise psycopg.errors.LockNotAvailable

    monkeypatch.setattr(exported_snapshot, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(exported_snapshot, "lock", locked)
    run(databases.source, "CREATE TABLE t (id int)")
    with pytest.raises(SourceError) as error, snapshot_at_position(databases.source, ids(databases.source, "t")):
        pass
    assert error.value.code == "SRC-171"


def test_a_kind_of_source_without_such_snapshots_says_so() -> None:
    with pytest.raises(Unsupported, match="ADP-168"):
        able(object(), GivesRowsAtPosition)
