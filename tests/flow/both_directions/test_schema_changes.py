"""Two channels, there and back: a schema change that comes from a target is taken over there without a statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.flow.both_directions.there_and_back import there_and_back

TABLE = ("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a')")


def test_rows_with_new_columns_go_both_ways_after_a_change_at_either_end(databases: Any, tmp_path: Path) -> None:
    """An ALTER there and one back, in one turn, with rows around them; nothing is run or loaded twice."""
    pair = there_and_back(databases, tmp_path, *TABLE)
    pair.there.at_source("ALTER TABLE t ADD COLUMN w int DEFAULT 7", "ALTER TABLE t RENAME COLUMN v TO u")
    pair.there.replicate()
    pair.back.at_source("INSERT INTO t (id, u, w) VALUES (2, 'b', 8)", "ALTER TABLE t ADD COLUMN x text")
    pair.back.at_source("UPDATE t SET x = 'x' WHERE id = 2")
    told = pair.back.replicate()
    assert told.adapt.changes == {"taken_over": 2, "add_column": 1}
    assert told.adapt.statements == 1 and told.refresh.tables == {}
    pair.there.at_source("INSERT INTO t VALUES (3, 'c', 9, 'y')", "ALTER TABLE t DROP COLUMN w")
    told = pair.there.replicate()
    assert told.adapt.changes == {"taken_over": 1, "drop_column": 1} and told.refresh.tables == {}
    pair.back.at_source("INSERT INTO t (id, u, x) VALUES (4, 'd', 'z')")
    assert pair.turns()[1].adapt.changes == {"taken_over": 1}
    rows = [(1, "a", None), (2, "b", "x"), (3, "c", "y"), (4, "d", "z")]
    assert pair.rows("SELECT id, u, x FROM t ORDER BY id") == (rows, rows)
    for told in pair.turns(2):
        assert told.adapt.changes == told.integrate.rows == {}


def test_a_new_table_takes_rows_of_both_ends_at_once(databases: Any, tmp_path: Path) -> None:
    """It is not created, loaded or emptied where it came from; when it is dropped there it goes from both channels."""
    pair = there_and_back(
        databases,
        tmp_path,
        *TABLE,
        adapt_ddl=[{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}],
    )
    pair.there.at_source("CREATE TABLE n (id int PRIMARY KEY, v text)", "INSERT INTO n VALUES (1, 'there')")
    pair.there.replicate()
    pair.back.at_source("INSERT INTO n VALUES (2, 'back')", "UPDATE n SET v = 'changed' WHERE id = 1")
    pair.there.at_source("INSERT INTO n VALUES (3, 'late')")
    told = pair.back.replicate()
    assert told.adapt.statements == 0 and told.refresh.tables == {}
    pair.turns()
    rows = [(1, "changed"), (2, "back"), (3, "late")]
    assert pair.rows("SELECT * FROM n ORDER BY id") == (rows, rows)
    pair.there.at_source("DROP TABLE n", "CREATE TABLE n (id int PRIMARY KEY, k int)", "INSERT INTO n VALUES (1, 5)")
    pair.there.replicate()
    pair.back.at_source("INSERT INTO n VALUES (2, 6)")
    pair.turns()
    assert pair.rows("SELECT * FROM n ORDER BY id") == ([(1, 5), (2, 6)], [(1, 5), (2, 6)])


def test_what_the_target_does_not_have_is_left_as_it_is(databases: Any, tmp_path: Path) -> None:
    """A session that only calls itself ours changes the source: nothing of it is at the target to take over."""
    pair = there_and_back(databases, tmp_path, *TABLE)
    pair.there.at_source("SET application_name = 'ddlrepl by hand'; ALTER TABLE t ADD COLUMN own int")
    pair.there.at_source("INSERT INTO t VALUES (2, 'b', 3)")
    told = pair.there.replicate()
    assert "taken_over" not in told.adapt.changes
    assert [why for why in told.discarded if "its session is ignored (name ddlrepl*)" in why]
    assert pair.there.rows("SELECT * FROM t ORDER BY id") == [(1, "a"), (2, "b")]
