"""Rewinds of tables whose rows at the position nothing tells: the plan says which, and nothing of them is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replayable import captured, past_at, read, replayable
from tests.support.replica import Replica, channel_file


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    return replayable(databases, tmp_path, location=past)


def here(replica: Replica) -> str:
    return str(read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")[0][0])


def unsafe(replica: Replica, at: str) -> dict[str, str]:
    """The tables that the plan calls unsafe, and why."""
    return {t["table"]: t["reason"] for t in replica.plan_rewind(at).tables if t["verdict"] == "unsafe"}


def refuses(replica: Replica, at: str, reason: str) -> None:
    """A rewind of t to there, for this reason; u is offered."""
    told = unsafe(replica, at)
    assert list(told) == ["public.t"]
    assert reason in told["public.t"]
    with pytest.raises(DdlReplError, match=r"(?s)REW-102.*known: public\.u\)"):
        replica.rewind(at)


def test_a_table_that_was_written_anew_is_unknown_until_it_was_loaded(replica: Replica, past: str) -> None:
    """Between the ALTER and the refresh after it nothing tells its rows: the plan says so, and nothing is built."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE u (id int)")
    replica.at_source("INSERT INTO t VALUES (1, 5)")
    replica.activate()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v + random()::int * 0 + 1")
    between = here(replica)
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (2, 7)")
    now = captured(replica)
    plan = replica.plan_rewind(between)
    assert {t["table"]: t["verdict"] for t in plan.tables} == {
        "public.t": "unsafe",
        "public.u": "safe (keep or regenerate)",
    }
    with pytest.raises(DdlReplError, match=r"known: public\.u\)") as refused:
        replica.rewind(between)
    assert refused.value.code == "REW-102"
    assert "not loaded yet (its rows are known from" in refused.value.message
    assert read(past, "SELECT to_regclass('u'), to_regclass('t')") == [(None, None)]
    assert replica.rewind(between, tables=["public.u"]).tables == ("public.u",)
    replica.rewind(now)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 6), (2, 7)]


def test_partitions_go_back_together_or_not_at_all(replica: Replica, past: str) -> None:
    """One whose rows are unknown makes its whole partitioned table unsafe, and what the error offers can be done."""
    replica.at_source(
        "CREATE TABLE p (id int, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE q (id int, v int)",
        "CREATE TABLE u (id int)",
        "INSERT INTO p VALUES (1, 5)",
        "INSERT INTO q VALUES (11, 5)",
    )
    replica.activate()
    replica.at_source("ALTER TABLE q ALTER v TYPE int USING v + random()::int * 0 + 1")
    replica.at_source("ALTER TABLE p ATTACH PARTITION q FOR VALUES FROM (10) TO (20)")
    between = here(replica)
    replica.at_source("INSERT INTO p VALUES (2, 6)")
    captured(replica)
    told = unsafe(replica, between)
    assert list(told) == ["public.p", "public.p1", "public.q"]
    assert told["public.p1"] == "it goes back together with public.q, whose rows can't be known"
    assert "not loaded yet" in told["public.q"]
    with pytest.raises(DdlReplError, match=r"known: public\.u\)"):
        replica.rewind(between)
    assert not replica.plan_rewind(between, tables=["public.p1"]).is_possible
    assert replica.rewind(between, tables=["public.u"]).tables == ("public.u",)


def test_a_change_that_the_event_triggers_could_not_tell(replica: Replica, past: str) -> None:
    """Somebody held a table of a type that another session moved: until the inspection its shape is not known."""
    replica.at_source("CREATE SCHEMA s2", "CREATE DOMAIN mood AS int", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, m mood DEFAULT 1)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    first = captured(replica)
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t RENAME m TO n")
        replica.at_source("ALTER DOMAIN mood SET SCHEMA s2")
    replica.at_source("INSERT INTO t VALUES (2, 2)", "INSERT INTO u VALUES (1)")
    between = here(replica)
    replica.at_source("INSERT INTO t VALUES (3, 3)")
    last = captured(replica)
    told = unsafe(replica, between)
    assert list(told) == ["public.t"]
    assert "is not in the log (canceling statement due to lock timeout)" in told["public.t"]
    with pytest.raises(DdlReplError, match=r"(?s)REW-102.*known: public\.u\)"):
        replica.rewind(between)
    column = "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum = 2"
    for position, type_ in ((first, "mood"), (last, "s2.mood")):
        replica.rewind(position)
        assert read(past, column) == [(type_,)]


def test_a_type_that_changes_while_another_transaction_first_uses_it(replica: Replica, past: str) -> None:
    """Neither statement tells that the column's type has another name: that is not known until the inspection."""
    replica.at_source("CREATE TYPE mood AS ENUM ('calm')", "CREATE TABLE t (id int)", "CREATE TABLE u (id int)")
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TYPE mood RENAME TO kind")
        replica.at_source("ALTER TABLE t ADD m mood")
        before = here(replica)
    between = here(replica)
    replica.at_source("INSERT INTO t VALUES (1, 'calm')")
    last = captured(replica)
    assert list(unsafe(replica, between)) == ["public.t"]
    assert replica.rewind(between, tables=["public.u"]).tables == ("public.u",)
    column = "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'm'"
    replica.rewind(last)
    assert read(past, column) == [("kind",)]
    assert "public.t" in unsafe(replica, before)  # the log does not tell which of the two statements it was


def test_a_type_that_changed_before_the_transaction_that_uses_it_was_committed(replica: Replica) -> None:
    """A capture between them has nothing to find: the table is locked, and has no such column yet."""
    replica.at_source("CREATE TYPE mood AS ENUM ('calm')", "CREATE TABLE t (id int)", "CREATE TABLE u (id int)")
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD m mood")
        replica.at_source("ALTER TYPE mood RENAME TO kind")
        replica.replicate()
    between = here(replica)
    replica.at_source("INSERT INTO t VALUES (1, 'calm')")
    captured(replica)
    assert list(unsafe(replica, between)) == ["public.t"]


def test_a_column_that_a_transaction_dropped_without_seeing_it(replica: Replica, past: str) -> None:
    """It is REPEATABLE READ: the server lets it drop the column, and what it can read of the table lacks that one."""
    replica.at_source("CREATE TABLE t (id int)", "CREATE TABLE u (id int)")
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("CREATE TABLE seen (id int)")
        replica.at_source("ALTER TABLE t ADD v int")
        session.execute("ALTER TABLE t DROP v")
    between = here(replica)
    replica.at_source("ALTER TABLE t ADD z int")
    after = here(replica)
    replica.at_source("INSERT INTO t VALUES (1, 2)")
    captured(replica)
    told = unsafe(replica, between)
    assert list(told) == ["public.t"]
    assert "does not show everything before it" in told["public.t"]
    replica.rewind(after)
    columns = "SELECT column_name::text FROM information_schema.columns WHERE table_name = 't' ORDER BY 1"
    assert read(past, columns) == [("id",), ("z",)]


def test_a_change_is_open_in_every_segment_up_to_the_inspection(databases: Any, past: str, tmp_path: Path) -> None:
    """Much log at once comes in more than one segment, and only the last of them ends with an inspection."""
    file = channel_file(
        tmp_path, databases.source, databases.target, capture={"window_bytes": 1 << 20}, **past_at(past)
    )
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE SCHEMA s2", "CREATE DOMAIN mood AS int", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, m mood DEFAULT 1)")
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t RENAME m TO n")
        replica.at_source("ALTER DOMAIN mood SET SCHEMA s2")
    replica.at_source("INSERT INTO u SELECT generate_series(1, 40000)")
    between = here(replica)
    replica.at_source("INSERT INTO u SELECT generate_series(40001, 80000)")
    end = captured(replica)
    with flow.open_channel(replica.file, InProcess()) as run:
        first, *others, last = [run.trail.segment(row.epoch, row.low) for row in run.live_segments()]
    assert first.high < Position.parse(between) < last.low
    assert last.is_inspected and not any(segment.is_inspected for segment in (first, *others))
    assert list(unsafe(replica, between)) == ["public.t"]
    replica.rewind(end)
    column = "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum = 2"
    assert read(past, column) == [("s2.mood",)]


def test_a_change_that_only_the_inspection_tells(databases: Any, past: str, tmp_path: Path) -> None:
    """Without event triggers: the shape at a position between two inspections that differ is not known."""
    more = {"source": {"ddl": "relations"}, **past_at(past)}
    file = channel_file(tmp_path, databases.source, databases.target, **more)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1, 1)")
    replica.activate()
    first = captured(replica)
    replica.at_source("INSERT INTO u VALUES (1)", "ALTER TABLE t DROP v")
    between = here(replica)
    replica.at_source("INSERT INTO u VALUES (2)")
    last = captured(replica)
    refuses(replica, between, "nothing in the log shows when it changed")
    columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 't'"
    for position, number in ((first, 2), (last, 1)):
        replica.rewind(position)
        assert read(past, columns) == [(number,)]


def test_a_name_that_an_inspection_found_before_an_older_statement_was_committed(replica: Replica, past: str) -> None:
    """The type was renamed while a transaction held one of its tables; its statement still told the former name."""
    replica.at_source(
        "CREATE TYPE mood AS ENUM ('calm')", "CREATE TABLE t (m mood)", "CREATE TABLE held (m mood, i int DEFAULT 1)"
    )
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE held ADD v int")
        replica.at_source("ALTER TYPE mood RENAME TO kind")
        replica.replicate()
    between = here(replica)
    replica.at_source("INSERT INTO t VALUES ('calm')")
    captured(replica)
    replica.rewind(between)
    columns = (
        "SELECT attrelid::regclass::text, atttypid::regtype::text FROM pg_attribute WHERE attname = 'm' ORDER BY 1"
    )
    assert read(past, columns) == [("held", "kind"), ("t", "kind")]


def test_rows_of_a_table_that_another_transaction_kept_out(replica: Replica, past: str) -> None:
    """It was published late: until the refresh that it got then, the log lacks its rows."""
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY)")
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("CREATE TABLE other (id int PRIMARY KEY)")
        replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    between = here(replica)
    replica.at_source("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (1)")
    last = captured(replica)
    assert list(unsafe(replica, between)) == ["public.t"]
    replica.rewind(last)
    assert read(past, "SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_rows_of_a_table_that_was_taken_out_of_the_publication(replica: Replica, past: str) -> None:
    """Somebody did that between two captures. The second one publishes it again, and has it loaded."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.activate()
    first = captured(replica)
    publication = read(replica.source, "SELECT pubname::text FROM pg_publication")[0][0]
    replica.at_source(f"ALTER PUBLICATION {publication} DROP TABLE t", "INSERT INTO t VALUES (1)")
    between = here(replica)
    replica.at_source("INSERT INTO u VALUES (1)")
    last = captured(replica)
    told = unsafe(replica, between)
    assert list(told) == ["public.t"]
    assert "rows from before the log carried them" in told["public.t"]
    for position, rows in ((first, []), (last, [(1,)])):
        replica.rewind(position)
        assert read(past, "SELECT id FROM t") == rows
