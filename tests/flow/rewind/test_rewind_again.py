"""Rewinds again and again: after rewinds, beside writers, with cycles and refreshes in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Origin
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, read, replayable
from tests.support.replica import Replica

LIVE = "warehouse"
WRITERS = 3
PAUSE_SECONDS = 0.05


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    return replayable(databases, tmp_path, location=past)


def test_a_rewind_of_a_rewind(replica: Replica, past: str) -> None:
    """Each is as if it were the first: to an earlier position, a later, an earlier; and a live target twice."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    held: dict[str, list[tuple[int, ...]]] = {captured(replica): [(1, 1)]}
    replica.at_source("INSERT INTO t VALUES (2, 2)", "ALTER TABLE t RENAME a TO b", "UPDATE t SET b = 3 WHERE id = 1")
    held[captured(replica)] = [(1, 3), (2, 2)]
    replica.at_source("ALTER TABLE t DROP b", "CREATE TABLE u (id int)", "INSERT INTO u VALUES (7)")
    held[captured(replica)] = [(1,), (2,)]
    first, second, third = held
    for at in (second, first, third, first):
        replica.rewind(at)
        assert read(past, "SELECT * FROM t ORDER BY id") == held[at]
        assert read(past, "SELECT to_regclass('u') IS NOT NULL") == [(at == third,)]
    for number, at in enumerate((second, first)):
        replica.at_target("DELETE FROM t")
        replica.rewind(at, LIVE)
        replica.check_equal()
        replica.at_source(f"INSERT INTO t VALUES ({number + 5})", f"ALTER TABLE t ADD c{number} int DEFAULT 4")
        replica.settle()
    replica.rewind(second)
    assert read(past, "SELECT * FROM t ORDER BY id") == held[second]


@contextmanager
def writers(url: str) -> Iterator[list[int]]:
    """Sessions that insert, update, delete and alter, each its own table and one for all. What they did: counts."""
    ending, counts = threading.Event(), [0] * WRITERS

    def write(who: int) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '100ms'")
            while not ending.is_set():
                n = counts[who]
                for statement in (
                    f"INSERT INTO shared VALUES ({who}, {n}), ({who}, {n})",
                    f"INSERT INTO t{who} (id) VALUES ({n})",
                    f"UPDATE t{who} SET id = -id WHERE id = {n - 3}",
                    f"DELETE FROM shared WHERE who = {who} AND n < {n - 20}",
                    f"UPDATE shared SET n = n + {who}",
                    f"ALTER TABLE t{who} {'DROP IF EXISTS' if n % 10 else 'ADD'} c {'' if n % 10 else 'int DEFAULT 1'}",
                ):
                    with suppress(psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                        connection.execute(statement)
                counts[who] += 1
                time.sleep(PAUSE_SECONDS)

    threads = [threading.Thread(target=write, args=(who,)) for who in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def test_while_writers_write(replica: Replica, past: str) -> None:
    """What they do meanwhile is in neither place, and comes with the next cycle."""
    tables = [f"CREATE TABLE t{who} (id int PRIMARY KEY)" for who in range(WRITERS)]
    replica.at_source("CREATE TABLE shared (who int, n int)", *tables)
    replica.at_source("INSERT INTO shared SELECT -1, i % 10 FROM generate_series(1, 500) i")
    replica.activate()
    at = captured(replica)
    with writers(replica.source) as counts:
        while min(counts) < 5:
            time.sleep(0.02)
        replica.replicate()
        before = list(counts)
        replica.rewind(at)
        assert read(past, "SELECT who, count(*) FROM shared GROUP BY who") == [(-1, 500)]
        while min(now - then for now, then in zip(counts, before, strict=True)) < 5:
            time.sleep(0.02)
        replica.rewind(at, LIVE)
    replica.settle()
    assert replica.rows("SELECT count(*) > 500 FROM shared WHERE who = -1 OR n > 0") == [(True,)]


@pytest.mark.req("HVR-W-02", "HVR-W-05", "HVR-W-13")
def test_revisions_with_their_positions_and_the_plan_that_reads_them(replica: Replica) -> None:
    """Activation makes revision 0 of each table where it is enrolled, every DDL the next one at its place in the log.

    The plan of a rewind lists, table by table, the DDL of its window (and of no other), with those positions; and
    tells of a table whose shape changed `safe (keep)`, of one that has one shape all the way `safe (keep or
    regenerate)`, of one whose rows a statement wrote anew, before they were loaded again, `unsafe`.
    """
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "CREATE TABLE u (id int)", "CREATE TABLE w (v int)")
    replica.activate()
    start = captured(replica)
    positions = [Position.parse(start)]
    for statement in ("ALTER TABLE t ADD b int", "ALTER TABLE t RENAME a TO c"):
        replica.at_source(statement)
        positions.append(Position.parse(captured(replica)))
    replica.at_source("ALTER TABLE w ALTER v TYPE int USING v + 1")
    between = read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")[0][0]
    captured(replica)
    replica.at_source("INSERT INTO w VALUES (1)")
    end = captured(replica)
    with flow.open_channel(replica.file, InProcess()) as run:
        histories = {str(h[-1].table.name): h for h in run.repository.histories("shop").values() if h[-1].table}
    assert {name: history[0].number for name, history in histories.items()} == dict.fromkeys(
        ("public.t", "public.u", "public.w"), 0
    )
    assert all(h[0].origin is Origin.INSPECTED and h[0].key.lsn <= positions[0] for h in histories.values())
    made = histories["public.t"]
    assert [revision.number for revision in made] == [0, 1, 2]
    assert [[c.name for c in r.table.columns] for r in made if r.table] == [
        ["id", "a"],
        ["id", "a", "b"],
        ["id", "c", "b"],
    ]
    assert positions[0] <= made[1].key.lsn < positions[1] <= made[2].key.lsn < positions[2]

    def planned(to: str) -> dict[str, tuple[str, list[str]]]:
        return {table["table"]: (table["verdict"], table["changes"]) for table in replica.plan_rewind(to).tables}

    first = f"{Position(made[1].key.lsn)} ALTER TABLE t ADD b int"
    second = f"{Position(made[2].key.lsn)} ALTER TABLE t RENAME a TO c"
    same = "safe (keep or regenerate)", list[str]()
    assert planned(start) == {"public.t": same, "public.u": same, "public.w": same}
    assert planned(str(positions[1])) == {"public.t": ("safe (keep)", [first]), "public.u": same, "public.w": same}
    found = planned(between)
    assert found["public.t"] == ("safe (keep)", [first, second])
    assert (found["public.u"], found["public.w"][0]) == (same, "unsafe")
    assert planned(end)["public.w"] == same


@pytest.mark.req("HVR-W-15")
def test_an_unsafe_table_is_refreshed_and_the_others_go_back(replica: Replica) -> None:
    """Rows that a statement rewrote and no refresh has loaded since are unknown at the target's position: a refresh
    reads the table from the source, the rewind is of the other tables, and all equal the source. Changes that the
    refresh contains are not applied again to its table, and those of the other tables are.
    """
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1, 5)", "INSERT INTO u VALUES (1)")
    replica.activate()
    moment = captured(replica)
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v + 1", "INSERT INTO u VALUES (2)")
    replica.at_source("INSERT INTO t VALUES (2, 7)", "INSERT INTO u VALUES (3)")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.capture(run)
        flow.integrate(run)
    replica.at_target("DELETE FROM t", "DELETE FROM u")
    plan = replica.plan_rewind(moment, LIVE)
    assert {table["table"]: table["verdict"] for table in plan.tables} == {
        "public.t": "unsafe",
        "public.u": "safe (keep or regenerate)",
    }
    with pytest.raises(DdlReplError, match="REW-102"):
        replica.rewind(moment, LIVE)
    assert replica.rewind(moment, LIVE, ["public.u"]).placed == {"public.u": 3}
    assert replica.rows("SELECT count(*) FROM t") == [(0,)]
    replica.at_source("INSERT INTO t VALUES (3, 9)", "INSERT INTO u VALUES (4)")
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.refresh(run, ["public.t"]).tables == {"public.t": 3}
    assert replica.rows("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == [(3, 3)]
    assert replica.settle().integrate.rows == {"changes": 1, "inserted": 1}
    replica.at_source("UPDATE t SET v = v + 1", "DELETE FROM u WHERE id = 1")
    replica.settle()


def test_rows_that_the_replay_can_not_read(replica: Replica, past: str) -> None:
    """A label is renamed while a transaction that used it is open: the log has its rows with the former one.

    Up to them the table is known, and again from the refresh on that they made a cycle do.
    """
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('calm', 'glad')",
        "CREATE TABLE t (id int PRIMARY KEY, m mood)",
        "CREATE TABLE u (id int PRIMARY KEY)",
    )
    replica.activate()
    with psycopg.connect(replica.source) as late:
        late.execute("INSERT INTO t VALUES (1, 'calm')")
        replica.at_source("ALTER TYPE mood RENAME VALUE 'calm' TO 'quiet'", "INSERT INTO t VALUES (2, 'quiet')")
        before = captured(replica)
        replica.at_source("INSERT INTO u VALUES (1)")
    ((between,),) = read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")
    assert replica.settle().refresh.tables == {"public.t": 2}
    replica.at_source("INSERT INTO t VALUES (3, 'glad')")
    now = captured(replica)
    replica.rewind(before)
    assert read(past, "SELECT id, m::text FROM t") == [(2, "quiet")]
    with pytest.raises(DdlReplError, match=r"REW-109: the rows of public\.t are not known at"):
        replica.rewind(between)
    replica.rewind(between, tables=["public.u"])
    assert read(past, "SELECT id FROM u") == [(1,)]
    replica.rewind(now)
    assert read(past, "SELECT id, m::text FROM t ORDER BY id") == [(1, "quiet"), (2, "quiet"), (3, "glad")]
    replica.at_target("DELETE FROM t")
    replica.rewind(before, LIVE)
    replica.check_equal()
    replica.at_source("DELETE FROM t WHERE id = 1")
    replica.settle()


def test_right_after_a_table_was_loaded(databases: Any, past: str, tmp_path: Path) -> None:
    """The load is of a later position than what was captured, and nothing was committed in between."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 5)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t ALTER v TYPE text USING (v * 2)::text")
    now = captured(replica)
    moment = read(replica.source, "SELECT now()")[0][0].isoformat()
    for to in (now, moment):
        replica.rewind(to)
        assert read(past, "SELECT * FROM t") == [(1, "10")]
    replica.at_target("DELETE FROM t")
    replica.rewind(before, "warehouse")
    replica.check_equal()
    replica.at_source("INSERT INTO t VALUES (2, '3')")
    replica.settle()


def test_tables_that_were_made_anew_under_their_names(databases: Any, past: str, tmp_path: Path) -> None:
    """What is kept of the old ones is removed with the rest, with its types; so is what a later stretch has made."""
    replica = replayable(databases, tmp_path, location=past)
    replica.at_source("CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE t (m mood)", "INSERT INTO t VALUES ('a')")
    replica.activate()
    before = captured(replica)
    anew = ("DROP TABLE t", "ALTER TABLE anew RENAME TO t")
    replica.at_source("CREATE TABLE anew (id int PRIMARY KEY)", *anew, "INSERT INTO t VALUES (2)")
    middle = captured(replica)
    replica.at_source("CREATE TYPE other AS (a int)", "CREATE TABLE u (o other)")
    replica.at_source("CREATE TABLE anew (o other)", *anew)
    now = captured(replica)
    for _ in range(2):
        replica.rewind(middle)
        assert read(past, "SELECT * FROM t") == [(2,)]
        replica.rewind(now, onward=True)
        assert read(past, "SELECT * FROM t") == []
        assert len(read(past, "SELECT FROM pg_class WHERE starts_with(relname, 't_kept_')")) == 1
        replica.rewind(before)
        assert read(past, "SELECT * FROM t") == [("a",)]
    assert read(past, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [("t",)]
    assert read(past, "SELECT to_regtype('other')::text") == [(None,)]


def test_a_table_that_left_the_channel_and_stayed(databases: Any, past: str, tmp_path: Path) -> None:
    drops = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_ONLY"}]
    replica = replayable(databases, tmp_path, location=past, adapt_ddl=drops)
    replica.at_source("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (id int)")
    replica.activate()
    before = captured(replica)
    replica.at_source("DROP TABLE t")
    replica.replicate()
    now = captured(replica)
    for _ in range(2):
        replica.rewind(before, LIVE)
        replica.rewind(before)
        assert read(past, "SELECT * FROM t") == [(1,)]
    with psycopg.connect(past) as connection:
        connection.execute("CREATE TABLE t_mine (id int)")
    replica.rewind(now)
    assert read(past, "SELECT to_regclass('t_mine')::text") == [("t_mine",)]
