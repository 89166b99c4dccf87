"""Row by row, only rows that somebody has written since the load are read, as long as it is known which these are."""

from __future__ import annotations

import logging
import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.target import load_marks
from airflow_ddlrepl.flow.refresh import source_rows
from airflow_ddlrepl.model.names import TableName
from tests.flow.refresh.test_differing_rows import CHANGES, equal, partly
from tests.support.differing_rows import new_replica
from tests.support.replica import Replica

MAKE = (
    "CREATE TABLE t (id bigint PRIMARY KEY, b bigint, n numeric, f float8, at timestamptz, d date, s interval,"
    " v text, w varchar(40), c char(5), u uuid, y bytea, j jsonb, o boolean)",
    "INSERT INTO t SELECT i, i % 1000 * 4294967296, i, i / 7.0, to_timestamp(i % 100000),"
    " '2020-01-01'::date + (i % 1000)::int, i % 100 * interval '1 day', 'v' || i, 'w' || i, 'c',"
    " md5(i::text)::uuid, decode(md5(i::text), 'hex'), jsonb_build_object('i', i), i % 2 = 0"
    " FROM generate_series(-900, 900) i",
    "ANALYZE t",
)
ROW_BY_ROW = "-gr"


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ddlrepl")


@pytest.fixture(autouse=True)
def _durable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables have marks, too; and none crashes before the server has written what came before the load."""
    monkeypatch.setattr(source_rows, "SMALLEST_MARKED", 0)
    monkeypatch.setattr(load_marks, "_FLUSHED", load_marks._FLUSHED.replace("SELECT ", "SELECT true OR ", 1))


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return new_replica(databases, tmp_path, *MAKE)


def read(replica: Replica, caplog: pytest.LogCaptureFixture) -> int | None:
    """How many rows a row-wise refresh reads; None: all. Both tables are equal then."""
    caplog.clear()
    replica.refresh("public.t", options=ROW_BY_ROW)
    assert equal(replica)
    found = partly(caplog)
    return found[0][1] if found else None


@pytest.mark.req("HVR-P-64")
def test_just_the_rows_that_were_written_are_read(replica: Replica, caplog: Any) -> None:
    assert read(replica, caplog) == 0
    replica.at_target("UPDATE t SET v = 'other' WHERE id IN (5, 6, 700)")
    assert read(replica, caplog) == 3
    replica.at_source("UPDATE t SET v = 'new' WHERE id = 1")
    replica.replicate()
    assert read(replica, caplog) == 4  # on both sides, and three that the refresh has written
    replica.refresh("public.t")
    assert read(replica, caplog) == 0
    replica.at_source("UPDATE t SET v = 'newer' WHERE id = 2")
    assert read(replica, caplog) == 1
    replica.settle()


def test_where_keys_differ_ranges_tell_the_rows(replica: Replica, caplog: Any) -> None:
    replica.at_target("DELETE FROM t WHERE id = 5; UPDATE t SET v = 'other' WHERE id = 700")
    assert 0 < (read(replica, caplog) or 0) < 100
    replica.at_target("UPDATE t SET id = 5000 WHERE id = 5")
    assert 0 < (read(replica, caplog) or 0) < 100


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_random_changes_of_both_sides_are_found(replica: Replica, caplog: Any) -> None:
    """Rows are frozen, moved and locked meanwhile, tables rewritten, transactions rolled back."""
    chance = random.Random(11)
    fixed = [change for change in CHANGES if " a " not in change and "a = a" not in change]
    beside = (
        "VACUUM FREEZE t",
        "VACUUM FULL t",
        "CLUSTER t USING t_pkey",
        "BEGIN; SELECT 1 FROM t FOR UPDATE; ROLLBACK",
        "BEGIN; UPDATE t SET v = 'gone'; ROLLBACK",
        "BEGIN; SAVEPOINT a; UPDATE t SET v = 'in a part' WHERE id = 3; RELEASE a; COMMIT",
        "ALTER TABLE t SET (fillfactor = 50)",
    )
    for number in range(8):
        for side in (replica.at_source, replica.at_target):
            for one in chance.sample(beside, 2) if number else ():
                side(one)
            changes = [one.format(*[chance.randrange(-900, 890)] * 2) for one in chance.sample(fixed, 2)]
            side(*(change for change in changes if number % 3))
        if number == 4:
            replica.refresh("public.t")
        if number % 2:
            replica.at_target(f"UPDATE t SET v = 'broken' WHERE id = {number}")
        found = read(replica, caplog)
        assert found is None or found < 700, number


def test_transactions_that_began_before_the_load_are_later_ones(replica: Replica, caplog: Any) -> None:
    """One of the target writes after the load with an earlier number; one of the source commits what no load saw."""
    with psycopg.connect(replica.target) as there, psycopg.connect(replica.source) as here:
        for connection in (there, here):
            connection.execute("SELECT pg_current_xact_id()")
        here.execute("UPDATE t SET v = 'not seen' WHERE id = 9")
        replica.at_target("CREATE TABLE x ()", "DROP TABLE x")
        replica.at_source("CREATE TABLE x ()", "DROP TABLE x")
        replica.refresh("public.t")
        there.execute("UPDATE t SET v = 'late' WHERE id = 5")
        there.commit()
        here.commit()
    replica.at_target("UPDATE t SET v = 'v9' WHERE id = 9")
    assert read(replica, caplog) is not False
    assert replica.rows("SELECT v FROM t WHERE id IN (5, 9) ORDER BY id") == [("v5",), ("not seen",)]


CHANGED = {
    "a default of old rows": "ALTER TABLE t DROP o, ADD o boolean DEFAULT true",
    "names": "ALTER TABLE t RENAME v TO x; ALTER TABLE t RENAME b TO y1;"
    " ALTER TABLE t RENAME x TO v; ALTER TABLE t RENAME y1 TO b; ALTER TABLE t ALTER w TYPE varchar(41);"
    " ALTER TABLE t ALTER w TYPE varchar(40)",
    "another table": "CREATE TABLE u (LIKE t INCLUDING ALL); INSERT INTO u SELECT * FROM t; UPDATE u SET v = 'u';"
    " DROP TABLE t; ALTER TABLE u RENAME TO t",
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_table_that_was_altered_by_hand_is_compared_whole(replica: Replica, caplog: Any, what: str) -> None:
    replica.at_target(CHANGED[what])
    read(replica, caplog)
    assert equal(replica)


def test_a_small_table_has_no_mark(databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows, "SMALLEST_MARKED", 1 << 30)
    replica = new_replica(databases, tmp_path, *MAKE)
    assert replica.rows("SELECT count(*) FROM ddlrepl.loads") == [(0,)]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_server_that_does_not_answer_has_no_mark(
    replica: Replica, caplog: Any, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """The table is loaded all the same; one that had a mark has none any more."""
    broken = "SELECT 1 / 0, {} IS NULL"
    monkeypatch.setattr(load_marks, "_MARK", broken)
    if side == "target":
        monkeypatch.setattr(source_rows, "load_mark", lambda task: "[]")
    replica.refresh("public.t")
    monkeypatch.undo()
    assert replica.rows("SELECT count(*) FROM ddlrepl.loads") == [(0,)]
    replica.at_target("UPDATE t SET v = 'other' WHERE id = 5")
    assert (read(replica, caplog) or 0) > 1


def test_types_whose_values_may_change_elsewhere_have_no_mark(databases: Any, tmp_path: Path, caplog: Any) -> None:
    replica = new_replica(
        databases,
        tmp_path,
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE t (id int PRIMARY KEY, m mood)",
        "INSERT INTO t SELECT i, 'sad' FROM generate_series(1, 100) i",
    )
    assert replica.rows("SELECT count(*) FROM ddlrepl.loads") == [(0,)]
    replica.at_target("UPDATE t SET m = 'happy' WHERE id = 7")
    assert read(replica, caplog) is not None


def test_a_server_that_has_started_again_is_not_trusted(private_server: Any, tmp_path: Path, caplog: Any) -> None:
    """It may be another one, or set back: all rows are hashed until the next load."""
    with private_server("source") as server:
        places = SimpleNamespace(source=server.create_database("a"), target=server.create_database("b"))
        replica = new_replica(places, tmp_path, *MAKE)
        assert replica.rows("SELECT count(*) FROM ddlrepl.loads") == [(1,)]
        replica.at_target("UPDATE t SET v = 'other' WHERE id = 5")
        server.stop()
        server.start()
        assert (read(replica, caplog) or 0) > 1
        replica.refresh("public.t")
        replica.at_target("UPDATE t SET v = 'other' WHERE id = 5")
        assert read(replica, caplog) == 1


def test_what_a_crash_could_undo_is_not_trusted(private_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that does not wait for the log to be written is seen before that."""
    monkeypatch.undo()
    with private_server("source", settings={"wal_writer_delay": "10s"}) as server:
        name = TableName("public", "t")
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("SET synchronous_commit = off")
            connection.execute("CREATE TABLE t (id int)")
            connection.execute("INSERT INTO t VALUES (1)")
            assert load_marks.durable_mark(connection, name, time.monotonic()) is None
            assert load_marks.durable_mark(connection, name, time.monotonic() - 31) is not None
            connection.execute("SET synchronous_commit = on")
            connection.execute("INSERT INTO t VALUES (2)")
            assert load_marks.durable_mark(connection, name, time.monotonic()) is not None
