"""A PostgreSQL target stores the text of each shape beside it; one that an older version prepared does without."""

from __future__ import annotations

import pytest

from tests.support.replica import Make

STALE = "SELECT count(*) FROM ddlrepl.tables WHERE shape_text IS DISTINCT FROM shape::text"


@pytest.mark.parametrize("is_older", [False, True])
def test_a_cycle_reads_and_writes_shapes(make: Make, is_older: bool) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "CREATE TABLE u (id int PRIMARY KEY)")
    if is_older:
        replica.at_target("ALTER TABLE ddlrepl.tables DROP COLUMN shape_text")
    replica.at_source("INSERT INTO t VALUES (1, 'x')", "ALTER TABLE t ADD w int DEFAULT 7", "INSERT INTO t VALUES (2)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, v, w FROM t ORDER BY id") == [(1, "x", 7), (2, None, 7)]
    if not is_older:
        assert replica.rows(STALE) == [(0,)]
