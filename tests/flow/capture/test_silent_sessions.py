"""A superuser alters tables with `event_triggers = off` (17 and later): the next statement about them shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.rewind.test_rewind_unknown import here, refuses, unsafe
from tests.support.replayable import captured, read, replayable
from tests.support.replica import Replica

COLUMNS = "SELECT column_name::text FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Of one table with rows, activated."""
    made = replayable(databases, tmp_path, location=past)
    made.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE u (id int PRIMARY KEY)")
    made.at_source("INSERT INTO t VALUES (1, 7), (2, 8)")
    made.activate()
    return made


def silently(replica: Replica, *statements: str) -> None:
    with psycopg.connect(replica.source, autocommit=True) as session:
        session.execute("SET event_triggers = off")
        for statement in statements:
            session.execute(statement.encode())


def test_values_that_were_changed_in_silence_arrive(replica: Replica) -> None:
    """The next statement tells the column's new type, but is not the one that has given it other values."""
    silently(replica, "ALTER TABLE t ALTER v TYPE bigint USING v * 100")
    replica.at_source("ALTER TABLE t ADD w int")
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    assert replica.rows("SELECT id, v, w FROM t ORDER BY id") == [(1, 700, None), (2, 800, None)]


def test_a_change_without_other_values_loads_nothing(replica: Replica) -> None:
    silently(replica, "ALTER TABLE t RENAME v TO w")
    replica.at_source("ALTER TABLE t ADD z int", "INSERT INTO t VALUES (3, 9, 1)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, w, z FROM t ORDER BY id") == [(1, 7, None), (2, 8, None), (3, 9, 1)]


def test_rows_that_may_be_of_either_shape_are_loaded(replica: Replica) -> None:
    silently(replica, "ALTER TABLE t RENAME v TO x", "ALTER TABLE t ADD v int")
    replica.at_source("UPDATE t SET v = 1")
    silently(replica, "ALTER TABLE t DROP x")
    replica.at_source("UPDATE t SET v = 2 WHERE id = 2", "ALTER TABLE t ADD z int")
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    assert replica.rows("SELECT id, v, z FROM t ORDER BY id") == [(1, 1, None), (2, 2, None)]


@pytest.mark.parametrize(
    ("change", "statement", "columns"),
    [
        ("ALTER TABLE t RENAME v TO w", "ALTER TABLE t ADD z int", ["id", "w", "z"]),
        ("ALTER TABLE t ADD w int", "ALTER TABLE t DROP w", ["id", "v"]),
    ],
)
def test_a_rewind_to_before_the_statement_is_refused(
    replica: Replica, past: str, change: str, statement: str, columns: list[str]
) -> None:
    """Nobody knows since when it was so. Before the inspection, and from the statement on, the table is known."""
    first = captured(replica)
    replica.at_source("INSERT INTO u VALUES (1)")
    silently(replica, change)
    between = here(replica)
    replica.at_source(statement)
    after = here(replica)
    replica.at_source("INSERT INTO u VALUES (2)")
    captured(replica)
    refuses(replica, between, "nothing in the log shows when it changed")
    for position, wanted in ((first, ["id", "v"]), (after, columns)):
        replica.rewind(position)
        assert [name for (name,) in read(past, COLUMNS)] == wanted


def test_a_capture_that_could_not_look_leaves_it_open(replica: Replica, past: str) -> None:
    """The table was locked when a capture looked, and all that it read was nothing: the next one's finding counts."""
    first = captured(replica)
    silently(replica, "ALTER TABLE t ADD w int")
    between = here(replica)
    with psycopg.connect(replica.source) as session:
        session.execute("SET event_triggers = off")
        session.execute("ALTER TABLE t DROP w")
        replica.capture()
    replica.at_source("INSERT INTO u VALUES (1)")
    silently(replica, "ALTER TABLE t ADD x int")
    captured(replica)
    assert list(unsafe(replica, between)) == ["public.t"]
    replica.rewind(first)
    assert [name for (name,) in read(past, COLUMNS)] == ["id", "v"]


def test_a_name_that_two_tables_have_is_not_offered(replica: Replica) -> None:
    """The former one was dropped in silence: that comes to light later than the next one."""
    silently(replica, "DROP TABLE t", "CREATE TABLE t (id int PRIMARY KEY)")
    replica.at_source("ALTER TABLE t ADD w int")
    between = here(replica)
    replica.at_source("INSERT INTO u VALUES (1)")
    captured(replica)
    with pytest.raises(DdlReplError, match=r"(?s)REW-102.*known: public\.u\)"):
        replica.rewind(between)


@pytest.mark.parametrize("change", ["DROP TABLE p1", "ALTER TABLE p DETACH PARTITION p1"])
def test_a_partition_had_left_before_its_partitioned_table_was_dropped(replica: Replica, change: str) -> None:
    """Another table has got that one's name since."""
    replica.at_source("CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    replica.at_source("CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)", "INSERT INTO p VALUES (1)")
    replica.settle()
    silently(replica, change)
    replica.at_source("DROP TABLE p", "CREATE TABLE p (id int PRIMARY KEY)", "INSERT INTO p VALUES (5)")
    replica.settle()
    replica.at_source("INSERT INTO p VALUES (6)")
    replica.settle()


def test_a_table_that_was_published_by_a_capture_that_got_no_further(replica: Replica) -> None:
    """Its first rows are not in the log, and the next statement about it tells it as if they were."""
    silently(replica, "CREATE TABLE n (id int PRIMARY KEY)", "INSERT INTO n VALUES (1)")
    with flow.open_channel(replica.file, InProcess()) as run:
        assert "filled" in run.source.membership.maintain().values()
    replica.at_source("INSERT INTO n VALUES (2)", "ALTER TABLE n ADD v int", "INSERT INTO n VALUES (3, 3)")
    replica.settle()
    assert replica.rows("SELECT id, v FROM n ORDER BY id") == [(1, None), (2, None), (3, 3)]
