"""Positions, news and health of a source's log."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.catalog.inspect import snapshot
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)


@pytest.fixture
def source(databases: Databases) -> Iterator[PostgresSource]:
    with connect(databases.source) as user:
        user.execute("CREATE TABLE t (id bigserial PRIMARY KEY, v text); CREATE TABLE other (v text)")
    made = PostgresSource(
        databases.source, channel="c", publication="p", slot=f"s_{databases.source[-8:]}",
        scope=Scope(("public.t",), (), (Joining("*"),)),
    )  # fmt: skip
    made.activate()
    with made:
        yield made


def _commits(source: PostgresSource, high: Position) -> list[tuple[int, Position]]:
    """(xid, commit position) of what can be read up to high."""
    rows = source.connection.execute(
        "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1',"
        " 'publication_names', %s) WHERE get_byte(data, 0) = 66",
        [source.slot, str(high), source.publication],
    ).fetchall()
    return [(int.from_bytes(d[17:21], "big"), Position(int.from_bytes(d[1:9], "big"))) for (d,) in rows]


@both
def test_everything_committed_before_lies_before_the_position(source: PostgresSource) -> None:
    stop = threading.Event()

    def write() -> None:
        with connect(source.dsn) as user:
            user.execute("SET synchronous_commit = off")
            while not stop.is_set():
                user.execute("INSERT INTO t (v) VALUES (repeat('x', (random() * 3000)::int))")

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    with connect(source.dsn) as user:
        user.execute("SET synchronous_commit = off")
        for _ in range(40):
            row = user.execute("INSERT INTO t (v) VALUES ('mine') RETURNING pg_current_xact_id()::text").fetchone()
            high = source.stable_end()
            seen = {xid: lsn for xid, lsn in _commits(source, high) if lsn < high}
            assert row is not None and int(row[0]) in seen
            source.acknowledge(high)  # what has been looked at is not decoded again
    stop.set()
    for writer in writers:
        writer.join()


def test_windows_split_the_log_without_loss(source: PostgresSource) -> None:
    low, seen = source.log.position(), 0
    with connect(source.dsn) as user:
        user.execute("SET synchronous_commit = off")
        for size in range(1, 60):
            user.execute("INSERT INTO t (v) VALUES (repeat('y', %s))", [size * 37])
            high = source.stable_end()
            source.acknowledge(low)
            assert source.has_changes(low, high)
            seen += len([1 for _, lsn in _commits(source, high) if low <= lsn < high])
            low = high
    assert seen == 59


@both
def test_news_are_rows_and_ddl_of_the_channel_only(source: PostgresSource) -> None:
    def news(*statements: str) -> bool:
        low = source.stable_end()
        source.acknowledge(low)
        with connect(source.dsn) as user:
            user.execute("SET synchronous_commit = off")
            for statement in statements:
                user.execute(statement.encode())
        return source.has_changes(low, source.stable_end())

    assert not news()
    assert not news("INSERT INTO other VALUES ('x')", "CREATE TEMP TABLE x (i int)", "VACUUM t", "CHECKPOINT")
    assert not news("BEGIN; INSERT INTO t (v) VALUES ('x'); ROLLBACK")
    assert not news("SELECT pg_logical_emit_message(true, 'ddlrepl.heartbeat', '')")
    assert news("INSERT INTO t (v) VALUES ('x')")
    assert news("SELECT pg_logical_emit_message(true, 'ddlrepl.heartbeat', '')", "UPDATE t SET v = 'y'")
    assert news("TRUNCATE t")
    assert news("ALTER TABLE t ADD w int")
    assert not news("SELECT pg_logical_emit_message(true, 'mine', 'hello')"), "no client takes it"
    assert news("SELECT pg_logical_emit_message(true, 'ddlrepl', 'hello')")


@both
def test_advance_moves_only_forward(source: PostgresSource) -> None:
    start = source.log.position()
    with connect(source.dsn) as user:
        user.execute("INSERT INTO t (v) VALUES ('x')")
    middle = source.stable_end()
    source.acknowledge(middle)
    source.acknowledge(start)
    assert source.log.position() == middle


@both
def test_a_snapshot_tells_what_it_sees(source: PostgresSource) -> None:
    with (
        connect(source.dsn) as user,
        connect(source.dsn, autocommit=False) as late,
        connect(source.dsn, autocommit=False) as reader,
    ):
        user.execute("INSERT INTO t (v) VALUES ('before')")
        late.execute("INSERT INTO t (v) VALUES ('late')")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT FROM t")
        late.commit()
        user.execute("INSERT INTO t (v) VALUES ('after')")
        seen = snapshot(reader)
        row = reader.execute("SELECT count(*) FROM t").fetchone()
        commits = _commits(source, source.stable_end())
    assert [seen.sees(lsn, xid) for xid, lsn in commits] == [True, False, False]
    assert row == (1,)


def test_the_source_pickles_without_its_connection(source: PostgresSource) -> None:
    copy = pickle.loads(pickle.dumps(source))
    assert copy.log.position() == source.log.position() and copy.connection is not source.connection
    assert source.dsn not in repr(source)
    copy.close()


def test_a_log_without_rows_is_refused(private_server: type[PrivateServer]) -> None:
    with private_server("target") as server, _plain(server.dsn()) as source:
        with pytest.raises(SourceError, match="SRC-101") as caught:
            source.activate()
        assert "ALTER SYSTEM SET wal_level = 'logical'" in caught.value.hint


@pytest.mark.parametrize("version", [18, 15])
def test_a_lost_slot_is_told_and_mended(private_server: type[PrivateServer], version: int) -> None:
    settings = {"max_slot_wal_keep_size": "1MB", "min_wal_size": "32MB", "max_wal_size": "32MB"}
    with private_server("source", version, settings) as server, _plain(server.dsn()) as source:
        source.activate()
        for _ in range(6):
            source.connection.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 100))")
            source.connection.execute("SELECT pg_switch_wal()")
        source.connection.execute("CHECKPOINT")
        with pytest.raises(SourceError, match="SRC-103") as caught:
            source.require_readable()
        assert "pg_drop_replication_slot('s')" in caught.value.hint
        assert source.activate().is_new
        source.require_readable()


def _plain(dsn: str) -> PostgresSource:
    return PostgresSource(dsn, channel="c", publication="p", slot="s", scope=Scope())


def test_a_slot_that_somebody_else_reads_may_have_news(source: PostgresSource) -> None:
    low = source.log.position()
    with closing(connect(f"{source.dsn}?replication=database")) as other:
        options = "(proto_version '1', publication_names 'p')"
        other.pgconn.exec_(f'START_REPLICATION SLOT "{source.slot}" LOGICAL {low} {options}'.encode())
        assert source.has_changes(low, source.stable_end())


def test_no_timeout_of_the_role_ends_what_takes_long(source: PostgresSource) -> None:
    with replace(source, dsn=f"{source.dsn}?options=-cstatement_timeout%3D9000") as timed:
        assert timed.connection.execute("SHOW statement_timeout").fetchone() == ("0",)
