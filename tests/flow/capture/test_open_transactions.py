"""Schema changes beside transactions that are still open: nothing is lost, nothing waits for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.crashing import die
from tests.support.replica import BOTH, Make, Replica, channel_file
from tests.support.small_roles import SmallReplica


def test_a_type_is_renamed_while_another_session_begins_to_use_it(make: Make) -> None:
    replica = make("CREATE TYPE old AS ENUM ('a')", "CREATE TABLE t(id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD m old DEFAULT 'a', ADD ms old[]")
        replica.at_source("ALTER TYPE old RENAME TO new")
    replica.at_source("CREATE TABLE u(id int PRIMARY KEY, m new)", "INSERT INTO u VALUES (1, 'a')")
    replica.settle()
    replica.at_source("ALTER TYPE new ADD VALUE 'b'", "INSERT INTO u VALUES (2, 'b')", "UPDATE t SET m = 'b'")
    replica.settle()
    assert replica.rows("SELECT m::text, pg_typeof(ms)::text FROM t") == [("b", "new[]")]


def test_a_composite_type_changes_in_a_transaction_that_does_not_see_all_its_tables(make: Make) -> None:
    replica = make("CREATE TYPE c AS (a int)", "CREATE TABLE t(id int PRIMARY KEY, v c)")
    with psycopg.connect(replica.source) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT 1 FROM t")
        replica.at_source("CREATE TABLE u(id int PRIMARY KEY, v c)", "INSERT INTO u VALUES (1, ROW(1))")
        session.execute("ALTER TYPE c RENAME ATTRIBUTE a TO b")
    replica.at_source("INSERT INTO u VALUES (2, ROW(2))", "INSERT INTO t VALUES (2, ROW(2))")
    replica.settle()
    assert replica.rows("SELECT id, (v).b FROM u ORDER BY id") == [(1, 1), (2, 2)]


@BOTH
def test_a_type_changes_in_a_transaction_that_ends_after_its_tables_changed(make: Make) -> None:
    replica = make(
        "CREATE TYPE mood AS ENUM ('a')",
        "CREATE TABLE t(id int PRIMARY KEY, m mood)",
        "CREATE TABLE gone(id int PRIMARY KEY, m mood)",
    )
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TYPE mood ADD VALUE 'b'")
        replica.at_source("ALTER TABLE t ADD n int DEFAULT 7", "INSERT INTO t VALUES (1, 'a', 8)", "DROP TABLE gone")
        replica.replicate()
    replica.at_source("INSERT INTO t VALUES (2, 'b', 9)")
    result = replica.settle()
    assert result.refresh.tables == {}
    assert replica.rows("SELECT id, m::text, n FROM t ORDER BY id") == [(1, "a", 8), (2, "b", 9)]


@BOTH
def test_a_type_moves_in_a_transaction_that_ends_after_its_table_changed(make: Make) -> None:
    replica = make("CREATE SCHEMA s2", "CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE t(id int, m mood, ms mood[])")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TYPE mood SET SCHEMA s2")
        replica.at_source("ALTER TABLE t ADD n int DEFAULT 7", "INSERT INTO t VALUES (1, 'a', '{a}', 8)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT pg_typeof(m)::text, pg_typeof(ms)::text, n FROM t") == [("s2.mood", "s2.mood[]", 8)]


@BOTH
def test_a_table_changes_in_a_transaction_that_ends_after_its_type_moved(make: Make) -> None:
    replica = make("CREATE SCHEMA s2", "CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE t(id int, m mood, ms mood[])")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD n int DEFAULT 7")
        replica.at_source("ALTER TYPE mood SET SCHEMA s2")
    replica.at_source("INSERT INTO t VALUES (1, 'a', '{a}', 8)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT pg_typeof(m)::text, pg_typeof(ms)::text, n FROM t") == [("s2.mood", "s2.mood[]", 8)]


@pytest.mark.parametrize("spelled", ["s2.mood", "s2.mood[]"])
def test_a_table_begins_to_use_a_type_while_it_moves_and_another_one_uses_it_moved(make: Make, spelled: str) -> None:
    replica = make("CREATE SCHEMA s2", "CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE t(id int)", "CREATE TABLE u()")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD m mood DEFAULT 'a'")
        replica.at_source("ALTER TYPE mood SET SCHEMA s2", f"ALTER TABLE u ADD m {spelled}")
    replica.at_source("INSERT INTO t VALUES (1)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT pg_typeof(m)::text FROM t") == [("s2.mood",)]


def test_a_table_begins_to_use_a_type_that_moves_at_another_table(make: Make) -> None:
    replica = make("CREATE SCHEMA s2", "CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE t(id int)", "CREATE TABLE u()")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD m mood")
        replica.at_source("ALTER TABLE u ADD m mood[]")
        replica.replicate()
        replica.at_source("ALTER TYPE mood SET SCHEMA s2")
    replica.at_source("INSERT INTO t VALUES (1, 'a')")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT pg_typeof(m)::text FROM t") == [("s2.mood",)]


@BOTH
@pytest.mark.parametrize("cycles", ["one", "two"])
def test_a_schema_change_whose_snapshot_is_older_than_the_last_one_drops_nothing(make: Make, cycles: str) -> None:
    replica = make("CREATE TABLE t(id int PRIMARY KEY, m text)", "INSERT INTO t VALUES (1, 'a')")
    with psycopg.connect(replica.source) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT 1 FROM pg_class")
        replica.at_source("ALTER TABLE t ADD x int DEFAULT 7", "INSERT INTO t VALUES (2, 'b', 8)")
        if cycles == "two":
            replica.replicate()
        session.execute("ALTER TABLE t ADD y int")
        session.execute("INSERT INTO t VALUES (3, 'c', 9, 10)")
    replica.at_source("INSERT INTO t VALUES (4, 'd', 11, 12)", "ALTER TABLE t DROP m")
    assert replica.settle().refresh.tables == {}
    rows = [(1, 7, None), (2, 8, None), (3, 9, 10), (4, 11, 12)]
    assert replica.rows("SELECT id, x, y FROM t ORDER BY id") == rows


@BOTH
def test_a_table_born_while_another_one_is_not_yet_committed_joins_as_soon_as_it_can(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """The server lets only one open transaction at a time change a publication. A small role asks for an activation."""
    replica = make()
    with psycopg.connect(replica.source) as session:
        session.execute("CREATE TABLE first(id int PRIMARY KEY)")
        replica.at_source("CREATE TABLE second AS SELECT 1 AS id", "INSERT INTO second VALUES (2)")
        replica.replicate()
        replica.at_source("DELETE FROM second WHERE id = 1")
    replica.at_source("INSERT INTO second VALUES (3)")
    if isinstance(replica, SmallReplica):
        replica.replicate()
        assert "second is not published yet" in caplog.text
        replica.activate()
    else:
        assert replica.settle().refresh.tables == {"public.second": 2}
    replica.at_source("INSERT INTO second VALUES (4)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id FROM second ORDER BY id") == [(2,), (3,), (4,)]


@BOTH
def test_a_table_that_was_left_out_joins_with_the_rows_it_has(make: Make) -> None:
    replica = make(source={"replica_identity": "leave"})
    replica.at_source("CREATE TABLE t(id int)", "INSERT INTO t VALUES (1)")
    replica.replicate()
    replica.at_source("ALTER TABLE t ADD PRIMARY KEY (id)", "INSERT INTO t VALUES (2)")
    replica.settle()
    assert replica.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


@pytest.mark.parametrize("databases", [18], indirect=True)
def test_a_schema_change_that_is_still_open_does_not_hold_up_a_cycle(make: Make) -> None:
    replica = make("CREATE TABLE t(id int PRIMARY KEY, g int DEFAULT 1)", "CREATE TABLE u(id int PRIMARY KEY)")
    with psycopg.connect(replica.source) as session:
        session.execute("ALTER TABLE t ADD x int DEFAULT 2")
        replica.at_source("INSERT INTO u VALUES (1)")
        replica.replicate()
        assert replica.rows("SELECT id FROM u") == [(1,)]
    replica.settle()


@BOTH
def test_a_domain_gets_checks_while_another_session_begins_to_use_arrays_of_it(make: Make) -> None:
    """The server refuses that where it sees the table."""
    replica = make("CREATE DOMAIN pos AS int CHECK (VALUE >= -1)")
    with psycopg.connect(replica.source) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("CREATE TABLE t (id int PRIMARY KEY, vs pos[])")
        session.execute("INSERT INTO t VALUES (1, '{1,2}')")
        replica.at_source("ALTER DOMAIN pos ADD CONSTRAINT odd CHECK (VALUE <> 10)", "ALTER DOMAIN pos SET NOT NULL")
        replica.settle()
    replica.settle()
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY, v pos)", "INSERT INTO u VALUES (1, 7)")
    replica.at_source("INSERT INTO t VALUES (2, '{3}')")
    replica.settle()
    assert replica.rows("SELECT vs::text FROM t ORDER BY id") == [("{1,2}",), ("{3}",)]


@BOTH
def test_a_type_that_nobody_used_is_renamed_and_used_by_a_session_that_does_not_see_that(make: Make) -> None:
    replica = make(
        "CREATE TYPE old AS ENUM ('a')",
        "CREATE TYPE pair AS (m old, ms old[])",
        "CREATE DOMAIN dull AS old",
        "CREATE TABLE t (id int PRIMARY KEY)",
    )
    with psycopg.connect(replica.source) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT FROM t")
        replica.at_source("ALTER TYPE old RENAME TO new")
        session.execute("ALTER TABLE t ADD m new[], ADD p pair, ADD d dull")
        session.execute("INSERT INTO t VALUES (1, '{a}', ROW('a', '{a}'), 'a')")
    replica.settle()
    assert replica.rows("SELECT m::text, pg_typeof(m)::text, p::text, d::text FROM t") == [
        ("{a}", "new[]", "(a,{a})", "a"),
    ]


def test_a_table_that_was_published_late_is_altered_before_its_refresh_is_asked_for(
    databases: Any, tmp_path: Path
) -> None:
    """The log lacks its first rows, and whatever happens to the table in between, that is not forgotten."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.activate()
    with psycopg.connect(replica.source) as session:
        session.execute("CREATE TABLE first (id int)")  # the publication is locked until this is committed
        replica.at_source("CREATE TABLE late (id int PRIMARY KEY)", "INSERT INTO late VALUES (1)")
    die("capture", replica.file, "capture.published")
    replica.at_source("ALTER TABLE late ADD more int", "INSERT INTO late VALUES (2, 3)")
    replica.settle()
    assert replica.rows("SELECT * FROM late ORDER BY id") == [(1, None), (2, 3)]


@BOTH
def test_a_column_is_altered_by_a_transaction_that_sees_it_as_it_was(make: Make) -> None:
    """Its snapshot shows the column twice: as it was, and as it is by its own statement."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY, k int, v int)", "CREATE TYPE c AS (a int)")
    replica.at_source("ALTER TABLE t ADD w c")
    replica.settle()
    with psycopg.connect(replica.source) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT 1 FROM pg_class LIMIT 1")
        replica.at_source(
            "ALTER TABLE t RENAME k TO swap", "ALTER TABLE t RENAME v TO k", "ALTER TABLE t RENAME swap TO v"
        )
        replica.at_source("ALTER TYPE c RENAME ATTRIBUTE a TO b")
        session.execute("ALTER TABLE t RENAME k TO x")
        session.execute("ALTER TABLE t RENAME v TO k")
        session.execute("ALTER TYPE c RENAME ATTRIBUTE b TO z")
    replica.at_source("INSERT INTO t (id, k, x, w) VALUES (1, 2, 3, ROW(4))")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, k, x, (w).z FROM t") == [(1, 2, 3, 4)]


@BOTH
def test_a_type_gets_a_label_in_a_transaction_that_ends_after_the_type_moved(make: Make) -> None:
    """The table that it has altered does not tell of the move; other ones have, meanwhile."""
    replica = make(
        "CREATE SCHEMA s2",
        "CREATE TYPE ty AS ENUM ('y', 'x')",
        "CREATE TABLE a (id int, k int, v int, q ty[]) PARTITION BY LIST (k)",
        "CREATE TABLE c (id bigint PRIMARY KEY, x ty)",
    )
    replica.settle()
    with psycopg.connect(replica.source) as adds, psycopg.connect(replica.source) as creates:
        adds.execute("ALTER TYPE ty ADD VALUE 'v5' BEFORE 'y'")
        adds.execute("ALTER TABLE a RENAME v TO w")
        replica.at_source("ALTER TYPE ty SET SCHEMA s2")
        creates.execute("CREATE TABLE d (id int PRIMARY KEY, a s2.ty)")
        creates.execute("ALTER TABLE c ADD n int")
        creates.commit()
        replica.replicate()
        adds.execute("ALTER TYPE s2.ty RENAME VALUE 'v5' TO 'r4'")
    replica.at_source("INSERT INTO c VALUES (1, 'r4')", "INSERT INTO d VALUES (1, 'r4')")
    replica.settle()
    assert replica.rows("SELECT x::text, pg_typeof(x)::text FROM c") == [("r4", "s2.ty")]


@BOTH
def test_a_type_moves_while_a_transaction_tells_its_new_table_twice(make: Make) -> None:
    """Each of its statements tells the former name, and only the other table tells of the new one."""
    replica = make("CREATE TYPE ty AS ENUM ('x')", "CREATE DOMAIN pos AS int", "CREATE TABLE t (a ty, p pos)")
    with psycopg.connect(replica.source) as session:
        session.execute("CREATE TABLE u (a ty, p pos)")
        session.execute("ALTER DOMAIN pos SET SCHEMA public")
        replica.at_source("ALTER TYPE ty RENAME TO kind")
    replica.at_source("INSERT INTO t VALUES ('x', 1)", "INSERT INTO u VALUES ('x', 2)")
    replica.settle()
    for table in ("t", "u"):
        assert replica.rows(f"SELECT a::text, pg_typeof(a)::text FROM {table}") == [("x", "kind")]
