"""A refresh among writers, schema changes, locks, repeated and failing tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines import chunks
from airflow_ddlrepl.engines.loading import LoadTask
from airflow_ddlrepl.engines.postgres.catalog import readable_tables
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection import copy, lock_retry
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.load import swap
from airflow_ddlrepl.engines.postgres.load.archive_chunk import ArchiveTask, archive_chunks
from airflow_ddlrepl.engines.postgres.load.load_chunk import load_chunks
from airflow_ddlrepl.engines.postgres.load.swap import make_shadow
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows
from airflow_ddlrepl.engines.postgres.source.exported_snapshot import source_snapshot
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.errors import DdlReplError, Fenced, SourceError, TargetError, UnreadableTable
from airflow_ddlrepl.flow import capture, integrate, open_channel, refresh
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.trail.loads import load_folder
from tests.support.refusing import edit
from tests.support.replica import Replica, channel_file, run

SHADOW = TableName("ddlrepl", "r_test")


class Threads:
    """Runs tasks side by side in this process."""

    parallelism = 3

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        with ThreadPoolExecutor(self.parallelism) as pool:
            return list(pool.map(task, items))


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))


def again(replica: Replica, runner: Any = None) -> Any:
    with open_channel(replica.file, runner=runner or InProcess()) as cycle:
        return refresh(cycle, ["*.*"])


@contextmanager
def writing(dsn: str, write: Callable[[psycopg.Connection[Any], int], None], count: int = 3) -> Iterator[None]:
    """That many sessions write until the block ends."""
    end, failed = threading.Event(), []

    def work(number: int) -> None:
        try:
            with psycopg.connect(dsn) as connection:
                while not end.is_set():
                    write(connection, number)
                    connection.commit()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.3)
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert not failed, failed


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_the_snapshot_and_the_log_share_no_transaction_and_miss_none(databases: Any) -> None:
    run(databases.source, "create table t (id serial, xid xid8 default pg_current_xact_id())")
    slot = f"s_{databases.source[-8:]}"
    run(databases.source, f"select pg_create_logical_replication_slot('{slot}', 'test_decoding')")

    def write(connection: psycopg.Connection[Any], number: int) -> None:
        connection.execute("savepoint a; insert into t default values; savepoint b; insert into t default values")
        time.sleep(0.002 * number)

    with connect(databases.source) as connection:
        (table,) = inspect(connection)
    rounds = []
    with writing(databases.source, write):
        for _ in range(6):
            with source_snapshot(databases.source, [table.id]) as source, connect(databases.source) as reader:
                reader.execute("begin isolation level repeatable read")
                reader.execute(f"set transaction snapshot '{source.name}'".encode())
                seen = {int(x) for (x,) in reader.execute("select distinct xid::text from t").fetchall()}
                rounds.append((source.snapshot, seen))
            time.sleep(0.05)
    with connect(databases.source) as reader:
        rows = reader.execute(
            "select lsn::text, xid::text from pg_logical_slot_get_changes(%s, null, null) where data like 'COMMIT%%'",
            [slot],
        ).fetchall()
        everything = {int(x) for (x,) in reader.execute("select distinct xid::text from t").fetchall()}
    commits = {int(xid): Position(Position.parse(lsn) - 1) for lsn, xid in rows if int(xid) in everything}
    assert len(commits) == len(everything) > 50
    for snapshot, seen in rounds:
        assert {xid for xid, lsn in commits.items() if snapshot.sees(lsn, xid & 0xFFFFFFFF)} == seen


def test_writers_go_on(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inserts, updates of keys and of values, deletes while tables are loaded: integrate goes on from exactly there."""
    monkeypatch.setattr(chunks, "MINIMUM_BYTES", 8192)
    replica.at_source(
        "create table t (id bigint primary key, n int not null, pad text)",
        "create table no_key (a int, b text)",
        "insert into t select i, 0, repeat('x', 100) from generate_series(1, 20000) i",
        "insert into no_key select i % 50, 'b' from generate_series(1, 1000) i",
    )

    def write(connection: psycopg.Connection[Any], number: int) -> None:
        connection.execute("update t set n = n + 1 where mod(id, 3) = %s and random() < 0.01", [number])
        connection.execute("update t set id = id + 100000 where id = (random() * 6000)::int * 3 + %s", [number])
        connection.execute("delete from t where id = (random() * 6000)::int * 3 + %s", [number])
        connection.execute("insert into no_key values (%s, 'new')", [number])
        connection.execute("delete from no_key where a = %s and random() < 0.01", [number + 10])

    with writing(replica.source, write):
        replica.activate()
        for _ in range(2):
            again(replica, Threads())
            replica.replicate()
    replica.settle()
    assert replica.rows("select sum(n) > 0, count(*) filter (where id > 100000) > 0 from t") == [(True, True)]


def test_a_rewrite_in_flight_is_waited_for(databases: Any) -> None:
    run(databases.source, "create table t (id int)", "insert into t values (1), (2)")
    with connect(databases.source) as connection:
        (table,) = inspect(connection)
    with psycopg.connect(databases.source) as other:
        other.execute("alter table t alter id type bigint")
        timer = threading.Timer(0.5, other.commit)
        timer.start()
        with source_snapshot(databases.source, [table.id]) as source, connect(databases.source) as reader:
            reader.execute("begin isolation level repeatable read")
            reader.execute(f"set transaction snapshot '{source.name}'".encode())
            assert reader.execute("select id from t").fetchall() == [(1,), (2,)]
            assert source.tables[0].columns[0].type.text == "bigint"
            with pytest.raises(psycopg.errors.LockNotAvailable), connect(databases.source) as late:
                late.execute("set lock_timeout = '100ms'")
                late.execute("truncate t")
        timer.join()


def test_a_table_that_is_locked_or_gone(databases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readable_tables, "PATIENCE_SECONDS", 0.2)
    run(databases.source, "create table t (id int)", "create table u (id int)")
    with connect(databases.source) as connection:
        tables = inspect(connection)
    with psycopg.connect(databases.source) as other:
        other.execute("alter table t add x int")
        with source_snapshot(databases.source, [t.id for t in tables]) as source:
            assert [t.name.name for t in source.tables] == ["u"]
            (error,) = source.refused.values()
    assert error.code == "SRC-171" and error.retryable and error.table == "public.t"
    with pytest.raises(SourceError, match="SRC-117"), source_snapshot(databases.source, [tables[0].id], 7):
        pass
    run(databases.source, "drop table u")
    with source_snapshot(databases.source, [t.id for t in tables]) as source:
        assert [t.name.name for t in source.tables] == ["t"]


@pytest.fixture
def chunk(databases: Any) -> Iterator[LoadTask]:
    run(
        databases.source,
        "create table t (id int, pad text)",
        "insert into t select i, 'p' from generate_series(1, 5000) i",
    )
    with connect(databases.target) as connection, source_snapshot(databases.source, _ids(databases.source)) as source:
        state.prepare(connection, "c", Position(0), 0, 1)
        (table,) = source.tables
        make_shadow(connection, table, SHADOW)
        (rows,) = source.chunks(RowSelection(table, ("id", "pad")), 1 << 30)
        rows = replace(rows, is_plain=False)
        yield LoadTask(databases.target, rows, table.name, SHADOW, ("id", "pad"), ("id", "pad"), "1", "c/1/0")


def with_rows(task: LoadTask, **changes: Any) -> LoadTask:
    assert isinstance(task.rows, TableRows)
    return replace(task, rows=replace(task.rows, **changes))


def load_chunk(task: LoadTask) -> int:
    (loaded,) = load_chunks((task,))
    if loaded.error is not None:
        raise loaded.error
    return loaded.rows


def _ids(dsn: str) -> list[int]:
    with connect(dsn) as connection:
        return [t.id for t in inspect(connection)]


def _count(dsn: str, table: str = "ddlrepl.r_test") -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"select count(*) from {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_a_chunk_that_runs_twice_loads_once(chunk: LoadTask) -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(load_chunk, [chunk] * 3)) == [5000] * 3
    assert load_chunk(chunk) == 5000 and _count(chunk.target_dsn) == 5000


def test_a_shadow_made_again_is_loaded_again(chunk: LoadTask, databases: Any) -> None:
    load_chunk(chunk)
    with connect(databases.target) as connection, connect(databases.source) as source:
        make_shadow(connection, inspect(source)[0], SHADOW)
    assert _count(chunk.target_dsn) == 0
    assert load_chunk(chunk) == 5000 and _count(chunk.target_dsn) == 5000


def test_chunks_cover_every_row_once(chunk: LoadTask, databases: Any) -> None:
    cuts = [(0, 7), (7, 8), (8, 20), (20, None)]
    parts = [replace(with_rows(chunk, low_page=low, high_page=high), chunk=f"c/1/{low}") for low, high in cuts]
    counts = [load_chunk(part) for part in parts]
    assert all(counts) and sum(counts) == 5000
    with psycopg.connect(databases.target) as connection:
        assert connection.execute("select count(distinct id) from ddlrepl.r_test").fetchone() == (5000,)


def test_failures_of_either_side_are_told_apart(chunk: LoadTask, databases: Any) -> None:
    with pytest.raises(SourceError) as caught:
        load_chunk(with_rows(chunk, snapshot="00000003-0000001B-1"))
    assert caught.value.code == "SRC-170"
    with pytest.raises(SourceError, match="nowhere"):
        load_chunk(with_rows(chunk, place=TableName("public", "nowhere")))
    run(databases.target, "alter table ddlrepl.r_test add check (id < 4000)")
    with pytest.raises(TargetError, match="check constraint") as refused:
        load_chunk(chunk)
    assert refused.value.code == "TGT-120" and _count(databases.target) == 0
    assert _count(databases.target, "ddlrepl.chunks") == 0
    run(databases.target, "drop table ddlrepl.r_test")
    with pytest.raises(TargetError, match="does not exist"):
        load_chunk(chunk)
    assert "password" not in repr(chunk) and databases.server.password not in repr(chunk)


def test_the_table_that_can_not_be_kept_is_named(chunk: LoadTask, tmp_path: Path) -> None:
    """Not the first one that the task is about."""
    place = (str(tmp_path), "c", f"{load_folder(0, 'x')}/1-0")
    nowhere = TableName("public", "nowhere")
    rows = [one.rows for one in (chunk, with_rows(chunk, place=nowhere, table=nowhere))]
    (done, refused) = archive_chunks([ArchiveTask(one, *place) for one in rows if isinstance(one, TableRows)])
    assert isinstance(done, tuple) and done[0] == 5000
    assert isinstance(refused, UnreadableTable) and (refused.code, refused.table) == ("SRC-170", "public.nowhere")


def test_a_source_that_dies_in_the_middle(chunk: LoadTask, databases: Any) -> None:
    run(databases.source, "insert into t select i, repeat('x', 1000) from generate_series(1, 300000) i")
    with source_snapshot(databases.source, _ids(databases.source)) as source:

        def end() -> None:
            with connect(databases.source) as connection:
                while not connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'COPY (SELECT%'"
                    " and datname = current_database()"
                ).fetchall():
                    time.sleep(0.01)

        thread = threading.Thread(target=end)
        thread.start()
        with pytest.raises(SourceError) as caught:
            load_chunk(with_rows(chunk, snapshot=source.name))
        thread.join()
    assert caught.value.code == "SRC-170" and _count(databases.target) == 0


def test_a_failed_refresh_leaves_the_old_table_and_is_swept(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    replica.at_source("alter table t add v int default 7", "insert into t values (2, 2)")
    replica.at_source("alter table t alter v type text using 'v' || v")

    def fail(*_: Any, **__: Any) -> None:
        raise DdlReplError("no power", code="XXX-1")

    with monkeypatch.context() as patch:
        patch.setattr(swap, "put_in_place", fail)
        with pytest.raises(DdlReplError, match="no power"):
            replica.replicate()
    assert replica.rows("select count(*) from ddlrepl.tables where state = 'pending'") == [(1,)]
    assert replica.rows("select count(*) from t") in ([(1,)], [(2,)])
    leftovers = "select count(*) from pg_class where relnamespace = 'ddlrepl'::regnamespace and relname like 'r\\_%'"
    assert replica.rows(leftovers) == [(2,)]  # a table and its key
    replica.settle()
    assert replica.rows(leftovers) == [(0,)] and replica.rows("select count(*) from ddlrepl.chunks") == [(0,)]
    assert replica.rows("select id, v from t order by id") == [(1, "v7"), (2, "v2")]


def test_a_target_table_in_use(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_retry, "ATTEMPTS", 2)
    edit(replica.file, "- name: warehouse\n", "- name: warehouse\n  lock_timeout: 1\n")
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    with psycopg.connect(replica.target) as reader:
        reader.execute("select * from t")
        with pytest.raises(TargetError) as caught:
            again(replica)
        assert reader.execute("select * from t").fetchall() == [(1,)]
    assert caught.value.code == "TGT-110" and caught.value.retryable
    replica.settle()


def test_a_run_that_lost_the_channel_writes_nothing(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    replica.at_target("update ddlrepl.position set token = 1000000")
    with pytest.raises(Fenced) as caught:
        again(replica)
    assert caught.value.code == "LCK-102"


@pytest.mark.parametrize("policy", ["DROP_FROM_CHANNEL_ONLY", "DROP_FROM_CHANNEL_AND_TARGET"])
def test_a_table_that_is_dropped_while_it_waits_waits_no_more(databases: Any, tmp_path: Path, policy: str) -> None:
    place, action = (databases.source, databases.target), {"add_table_pattern": "*", "on_drop_table": policy}
    replica = Replica(*place, channel_file(tmp_path, *place, adapt_ddl=[action]))
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.activate()
    replica.settle()
    replica.at_source("alter table t alter v type text using v || '!'")
    with open_channel(replica.file, InProcess()) as cycle:
        capture(cycle)
        integrate(cycle)
        assert len(cycle.repository.pending_refreshes("shop")) == 1
    replica.at_source("drop table t")
    replica.settle()
    with open_channel(replica.file, InProcess()) as cycle:
        assert cycle.repository.pending_refreshes("shop") == []


def test_a_schema_change_of_two_tables_is_no_deadlocks_victim(databases: Any) -> None:
    run(databases.source, "create table a (id int)", "create table b (id int)")
    with connect(databases.source) as connection:
        ids = [table.id for table in inspect(connection)]

    def load() -> int:
        with source_snapshot(databases.source, ids) as found:
            return len(found.tables)

    with psycopg.connect(databases.source) as user, ThreadPoolExecutor(1) as pool:
        user.execute("alter table b add x int")
        loading = pool.submit(load)
        time.sleep(1.5)
        user.execute("alter table a add x int")
        user.commit()
        assert loading.result() == 2


def test_a_schema_change_that_waits_for_the_refresh_does_not_stop_it_for_ever(
    databases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in the queue before a worker that reads the table next."""
    monkeypatch.setattr(copy, "LOCK_TIMEOUT", "300ms")
    run(databases.source, "create table a (id int)", "insert into a values (1)")
    with connect(databases.source) as connection:
        (table,) = inspect(connection)
    with ThreadPoolExecutor(1) as pool, source_snapshot(databases.source, [table.id]) as source:
        altering = pool.submit(run, databases.source, "alter table a add x int")
        with connect(databases.source) as watch:
            while watch.execute("select 1 from pg_locks where not granted").fetchone() is None:
                time.sleep(0.05)
        out = copy.copy_out(table.name, ["id"], 0, None, binary=False)
        with connect(databases.source, autocommit=False) as worker, pytest.raises(copy.SourceFailed, match="lock"):
            copy.open_snapshot(worker, source.name)
            list(copy.blocks_of(worker, out))
    altering.result()
