"""A live target goes back to an earlier moment and on again: its tables are exchanged, its position stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.target.state import read_state
from airflow_ddlrepl.errors import CannotAdapt, ConfigError, ControlStop, DdlReplError
from airflow_ddlrepl.model.position import Position
from tests.support.crashing import die
from tests.support.replayable import HORIZON, captured, read, replayable
from tests.support.replica import Replica, channel_file, run

LIVE = "warehouse"


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    return replayable(databases, tmp_path, location=past)


def change_channel(replica: Replica, past: str, **more: Any) -> None:
    replays = [{"name": "past", "location": past}]
    channel_file(
        replica.file.parent, replica.source, replica.target, rewind_horizon=HORIZON, replays=replays, **more
    )  # fmt: skip


def position(replica: Replica) -> Position:
    with psycopg.connect(replica.target) as connection:
        return read_state(connection, "shop").lsn


@pytest.mark.req("HVR-W-14")
def test_a_target_that_somebody_damaged(replica: Replica, past: str) -> None:
    """What hangs on a table stays, so does the position; later cycles go on as if nothing had been."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a text)", "CREATE TABLE k (x int)")
    replica.at_source("INSERT INTO t VALUES (1, 'x')", "INSERT INTO k VALUES (7), (7)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 'y')", "INSERT INTO k VALUES (8)", "ALTER TABLE t ADD n int DEFAULT 4")
    before = captured(replica)
    replica.at_source("ALTER TABLE t RENAME a TO aa", "UPDATE t SET aa = 'z' WHERE id = 1", "DELETE FROM k WHERE x = 8")
    captured(replica)
    stood = position(replica)
    replica.at_target(
        "CREATE VIEW v AS SELECT aa FROM t", "GRANT SELECT ON t TO PUBLIC", "DELETE FROM t", "INSERT INTO k VALUES (9)"
    )
    result = replica.rewind(before, "")
    assert result.placed == {"public.k": 2, "public.t": 2}
    replica.check_equal()
    assert position(replica) == stood
    assert replica.rows("SELECT aa FROM v ORDER BY 1") == [("y",), ("z",)]
    assert replica.rows("SELECT has_table_privilege('public', 't', 'SELECT')") == [(True,)]
    replica.at_source("INSERT INTO t VALUES (3, 'w')", "INSERT INTO k VALUES (7)", "ALTER TABLE t DROP n")
    replica.settle()


def test_a_column_that_was_dropped_under_the_wrong_policy_comes_back(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, b int)", "INSERT INTO t VALUES (1, 10), (2, 20)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t DROP b", "INSERT INTO t VALUES (3)", "DELETE FROM t WHERE id = 2")
    captured(replica)
    change_channel(replica, past, adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}])
    replica.rewind(before, "")
    assert replica.rows("SELECT id, b FROM t ORDER BY id") == [(1, 10), (3, None)]
    replica.at_source("INSERT INTO t VALUES (4)", "ALTER TABLE t ADD c int")
    replica.replicate()
    assert replica.rows("SELECT id, b, c FROM t ORDER BY id") == [(1, 10, None), (3, None, None), (4, None, None)]


def test_right_after_the_first_load(replica: Replica) -> None:
    """It is of a later position than what was captured, and nothing was committed in between."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    now = str(replica.activate().position)
    replica.at_target("DELETE FROM t")
    replica.rewind(now, LIVE)
    replica.check_equal()
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.settle()


@pytest.mark.parametrize("kind", ["table", "partition", "partition alone"])
def test_a_column_that_was_dropped_before_and_kept_stays(replica: Replica, past: str, kind: str) -> None:
    """It is in no load that the replay begins with; the rows that stay have its values. So is a type wider there."""
    change_channel(replica, past, adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}])
    replica.at_source(
        f"CREATE TABLE t (id int PRIMARY KEY, b int, c text){' PARTITION BY RANGE (id)' * (kind != 'table')}",
        *["CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)"] * (kind != "table"),
        "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y')",
    )
    replica.activate()
    replica.at_source("ALTER TABLE t DROP b", "ALTER TABLE t ALTER c TYPE varchar(3)", "INSERT INTO t VALUES (3, 'z')")
    replica.replicate()
    replica.refresh("public.t1" if kind == "partition alone" else "*.*")
    before = captured(replica)
    replica.at_source("DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (4, 'w')")
    replica.replicate()
    held = [(1, 10, "x"), (3, None, "z"), (4, None, "w")]
    assert replica.rows("SELECT id, b, c FROM t ORDER BY id") == held
    replica.at_target("UPDATE t SET c = 'spoilt'")
    replica.rewind(before, LIVE)
    assert replica.rows("SELECT id, b, c FROM t ORDER BY id") == held
    assert replica.rows("SELECT pg_typeof(c)::text FROM t LIMIT 1") == [("text",)]
    replica.at_source("UPDATE t SET c = 'v' WHERE id = 1")
    replica.replicate()
    assert replica.rows("SELECT id, b, c FROM t WHERE id = 1") == [(1, 10, "v")]


def test_types_of_an_extension_that_the_replay_lacks(replica: Replica, past: str) -> None:
    """They are text there; the target's columns stay what they are."""
    for url in (replica.source, replica.target):
        run(url, "CREATE EXTENSION citext")
    replica.at_source("CREATE TABLE t (name citext PRIMARY KEY, more citext[])")
    replica.at_source("INSERT INTO t VALUES ('Ann', '{a,B}')")
    replica.activate()
    before = captured(replica)
    replica.at_source("INSERT INTO t VALUES ('Bob', NULL)", "UPDATE t SET name = 'ann' WHERE name = 'ANN'")
    captured(replica)
    replica.at_target("DELETE FROM t")
    replica.rewind(before, LIVE)
    assert read(past, "SELECT pg_typeof(name)::text FROM t LIMIT 1") == [("text",)]
    assert replica.rows("SELECT DISTINCT pg_typeof(name)::text, pg_typeof(more)::text FROM t") == [
        ("citext", "citext[]")
    ]
    replica.check_equal()
    replica.at_source("UPDATE t SET more = '{C}' WHERE name = 'BOB'", "INSERT INTO t VALUES ('Cid')")
    replica.settle()


def test_a_table_that_was_dropped_under_the_wrong_policy_comes_back(replica: Replica, past: str) -> None:
    gone = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    change_channel(replica, past, adapt_ddl=gone)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int)", "INSERT INTO t VALUES (1)")
    replica.activate()
    before = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2)", "DROP TABLE t")
    captured(replica)
    assert replica.rows("SELECT to_regclass('t')") == [(None,)]
    change_channel(replica, past, adapt_ddl=[{"add_table_pattern": "*", "on_drop_table": "KEEP"}])
    replica.rewind(before, LIVE)
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1,), (2,)]
    replica.at_source("INSERT INTO u VALUES (1)", "CREATE TABLE t (id int PRIMARY KEY, v text)")
    replica.settle()


def test_a_partition_that_was_dropped_before_the_moment_stays_away(replica: Replica, past: str) -> None:
    """On the way it is there; the policies of today would keep it."""
    change_channel(replica, past, adapt_ddl=[{"on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}])
    replica.at_source("CREATE TABLE p (id int) PARTITION BY LIST (id)")
    replica.at_source("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)", "CREATE TABLE p2 PARTITION OF p DEFAULT")
    replica.activate()
    replica.at_source("INSERT INTO p VALUES (1), (2)", "DROP TABLE p1")
    before = captured(replica)
    change_channel(replica, past, adapt_ddl=[{"on_drop_table": "KEEP"}])
    assert replica.rewind(before, LIVE).placed == {"public.p": 0, "public.p2": 1}
    assert replica.rows("SELECT to_regclass('p1')") == [(None,)]
    replica.check_equal()


def test_one_table_while_the_others_stay(replica: Replica) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (1)")
    before = captured(replica)
    replica.at_target("DELETE FROM t", "DELETE FROM u")
    assert replica.rewind(before, LIVE, ["public.t"]).placed == {"public.t": 1}
    assert replica.rows("SELECT * FROM u") == []
    assert replica.rows("SELECT * FROM t") == [(1,)]


def test_a_partition_that_is_one_no_more_is_not_asked_for(replica: Replica) -> None:
    replica.at_source(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)",
        "INSERT INTO p VALUES (1), (11)",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE p DETACH PARTITION p1")
    captured(replica)
    replica.at_target("DELETE FROM p", "DELETE FROM p1")
    assert replica.rewind(before, LIVE, ["public.p"]).placed == {"public.p": 0, "public.p2": 1}
    assert replica.rows("SELECT * FROM p1") == []


def test_rows_that_were_written_anew_after_the_moment_come_from_the_load(replica: Replica) -> None:
    """And those of the other table from the log alone, whatever was loaded later."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t VALUES (1, 5)", "INSERT INTO u VALUES (1)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t ALTER v TYPE text USING (v * 2)::text", "INSERT INTO u VALUES (2)")
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (2, '7')", "CREATE TYPE mood AS ENUM ('a')", "ALTER TABLE u ADD m mood")
    captured(replica)
    replica.at_source("UPDATE u SET m = 'a'", "ALTER TYPE mood RENAME VALUE 'a' TO 'b'")
    captured(replica)
    replica.at_target("TRUNCATE t", "TRUNCATE u")
    plan = replica.plan_rewind(before, LIVE)
    assert plan.live == LIVE
    assert "then put in the places of these tables at target warehouse" in plan.text()
    assert replica.rows("SELECT * FROM t") == []
    replica.rewind(before, LIVE)
    replica.check_equal()
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, "10"), (2, "7")]


def test_beside_the_tables_in_other_schemas(databases: Any, tmp_path: Path) -> None:
    """Partitions have what they inherit from their parent, an identity column, only by being attached."""
    replica = replayable(databases, tmp_path, location=databases.target, schemas={"public": "earlier"})
    replica.at_source(
        "CREATE TABLE p (id int PRIMARY KEY, b int GENERATED BY DEFAULT AS IDENTITY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "INSERT INTO p VALUES (1)",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source("INSERT INTO p VALUES (2)", "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)")
    captured(replica)
    replica.at_target("DELETE FROM p WHERE id = 1")
    replica.rewind(before, LIVE)
    replica.check_equal()
    replica.at_source("INSERT INTO p VALUES (11)", "ALTER TABLE p ADD n int")
    replica.settle()


def test_other_columns_of_a_partitioned_table_are_refused(replica: Replica, past: str) -> None:
    replica.at_source(
        "CREATE TABLE p (id int PRIMARY KEY, b int) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "INSERT INTO p VALUES (1, 2)",
    )
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE p DROP b")
    captured(replica)
    change_channel(replica, past, adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}])
    with pytest.raises(CannotAdapt, match=r"REW-107: the partitioned table public\.p "):
        replica.rewind(before, LIVE)
    assert read(past, "SELECT * FROM p") == [(1, 2)]
    assert replica.rows("SELECT * FROM p") == [(1,)]


def test_a_policy_that_stops_leaves_the_target_as_it_is(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    before = captured(replica)
    replica.at_source("ALTER TABLE t ADD n int DEFAULT 4")
    captured(replica)
    stops = [{"add_table_pattern": "*", "on_add_column_with_default": "FAIL_INTEG_JOB"}]
    change_channel(replica, past, adapt_ddl=stops)
    replica.at_target("DELETE FROM t")
    with pytest.raises(ControlStop):
        replica.rewind(before, LIVE)
    assert replica.rows("SELECT * FROM t") == []


def test_what_can_not_go_back_is_refused(replica: Replica, past: str) -> None:
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    now = captured(replica)
    with pytest.raises(ConfigError, match="CFG-132"):
        replica.rewind(now, "elsewhere")
    replica.at_source("INSERT INTO t VALUES (1)")
    replica.capture()
    ahead = read(replica.source, "SELECT pg_current_wal_flush_lsn()::text")[0][0]
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.capture()
    with pytest.raises(DdlReplError, match="REW-106: target warehouse has not reached"):
        replica.rewind(ahead, LIVE)
    channel_file(replica.file.parent, replica.source, replica.target, rewind_horizon=HORIZON)
    with pytest.raises(ConfigError, match="CFG-133"):
        replica.rewind(now, LIVE)


@pytest.mark.parametrize(
    "point", ["rewind.begun", "rewind.restored", "refresh.shadow", "refresh.transaction", "rewind.placed", "*:12"]
)
def test_killed_and_done_again(replica: Replica, point: str) -> None:
    """Whatever a killed run has exchanged is right, whatever it has not stands as it stood."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "CREATE TABLE k (x int)")
    replica.at_source("INSERT INTO t VALUES (1, 2)", "INSERT INTO k VALUES (7), (7)")
    replica.activate()
    before = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2, 3)", "ALTER TABLE t ADD n int DEFAULT 4", "INSERT INTO k VALUES (7)")
    captured(replica)
    die("rewind", replica.file, point, Position.parse(before), LIVE)
    replica.check_equal()
    replica.at_source("INSERT INTO t VALUES (3, 3)", "INSERT INTO k VALUES (8)")
    replica.settle()
    replica.at_target("DELETE FROM k")
    replica.rewind(before, LIVE)
    replica.settle()
