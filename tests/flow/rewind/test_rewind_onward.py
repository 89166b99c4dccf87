"""A replay goes on from where it is, as the intervals of a backfill do, and ends as if it had been made at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.model.position import Position
from tests.support.crashing import die
from tests.support.replayable import captured, read, replayable
from tests.support.replica import Replica


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Two tables, and a load of both."""
    found = replayable(databases, tmp_path, location=past)
    found.at_source("CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    found.at_source("CREATE TABLE k (x int)", "INSERT INTO k VALUES (1)")
    found.activate()
    return found


def test_ten_stretches_each_once_in_order_and_again(replica: Replica, past: str) -> None:
    """As a backfill of ten intervals asks for them, twice. The table without a key shows each change once."""
    changes = {1: "ALTER TABLE t ADD n int DEFAULT 4", 4: "ALTER TABLE t RENAME v TO w", 7: "ALTER TABLE t DROP n"}
    points = []
    for number in range(10):
        replica.at_source(f"INSERT INTO t VALUES ({number + 5}, 0)", "INSERT INTO k VALUES (1)")
        replica.at_source(*filter(None, [changes.get(number)]))
        points.append((captured(replica), read(replica.source, "SELECT * FROM t ORDER BY id")))
    for _ in range(2):
        for number, (at, rows) in enumerate(points):
            result = replica.rewind(at, onward=True)
            assert sorted(result.loaded) == ([] if number else ["public.k", "public.t"])
            assert result.rows["inserted"] == 2
            assert read(past, "SELECT * FROM t ORDER BY id") == rows
            assert read(past, "SELECT count(*) FROM k") == [(number + 2,)]
    replica.check_equal()


def test_a_table_that_is_loaded_on_the_way(replica: Replica, past: str) -> None:
    first = captured(replica)
    replica.rewind(first, onward=True)
    replica.at_source("INSERT INTO t VALUES (5, 5)", "ALTER TABLE t ALTER v TYPE text USING (v * 2)::text")
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (6, '6')")
    now = captured(replica)
    assert sorted(replica.rewind(now, onward=True).loaded) == ["public.t"]
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, "2"), (2, "4"), (5, "10"), (6, "6")]
    assert read(past, "SELECT * FROM k") == [(1,)]


@pytest.mark.parametrize("between", ["other tables", "another file", "killed", "the target"])
def test_what_was_made_otherwise_is_made_anew(replica: Replica, past: str, between: str) -> None:
    first = captured(replica)
    replica.rewind(first, onward=True)
    replica.at_source("INSERT INTO t VALUES (5, 5)", "INSERT INTO k VALUES (5)")
    now = captured(replica)
    if between == "other tables":
        replica.rewind(first, tables=["public.k"])
    elif between == "another file":
        replica.file.write_text(replica.file.read_text().replace("adapt_ddl:", "defaults: hvr\nadapt_ddl:"))
    elif between == "killed":
        die("rewind", replica.file, "integrate.committed", Position.parse(now), "past")
    else:
        replica.rewind(first, "warehouse")
    assert sorted(replica.rewind(now, onward=True).loaded) == ["public.k", "public.t"]
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2), (5, 5)]
    assert read(past, "SELECT * FROM k ORDER BY x") == [(1,), (5,)]


def test_what_is_dropped_on_the_way_goes(replica: Replica, past: str) -> None:
    """Whatever the policies say, and when another table has its name since; so it is when the replay is made anew."""
    replica.at_source("CREATE TABLE p (id int) PARTITION BY LIST (id)")
    replica.at_source("CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)", "CREATE TABLE p2 PARTITION OF p DEFAULT")
    replica.at_source("INSERT INTO p VALUES (1), (2)")
    replica.rewind(captured(replica), onward=True)
    replica.at_source("ALTER TABLE p DETACH PARTITION p2", "DROP TABLE k", "CREATE TABLE k (y text)", "DROP TABLE p1")
    replica.at_source("CREATE TABLE p3 PARTITION OF p FOR VALUES IN (3)", "INSERT INTO p VALUES (3)")
    middle = captured(replica)
    replica.at_source("DROP TABLE p, t")
    end = captured(replica)
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
    for onward in (True, False):
        replica.rewind(middle, onward=onward)
        assert {name for (name,) in read(past, tables)} == {"t", "k", "p", "p2", "p3"}
        assert read(past, "SELECT * FROM p") == [(3,)] and read(past, "SELECT * FROM p2") == [(2,)]
        assert read(past, "SELECT y FROM k") == []
        replica.rewind(end, onward=onward)
        assert {name for (name,) in read(past, tables)} == {"k", "p2"}
    replica.check_equal()
