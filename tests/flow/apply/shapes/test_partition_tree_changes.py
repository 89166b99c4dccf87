"""Columns of a partitioned table change again while a refresh of all its partitions waits for the first change."""

from __future__ import annotations

import pytest

from tests.support.replica import BOTH, Make

LOSSY = "ALTER TABLE p ALTER e TYPE int USING length(e)"
START = (
    "CREATE TABLE p (id int, k int, e text, x int DEFAULT 5, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2, 3) PARTITION BY HASH (id)",
    "CREATE TABLE p2a PARTITION OF p2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
    "CREATE TABLE p2b PARTITION OF p2 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    "INSERT INTO p VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 2, 'c'), (4, 3, 'd'), (5, 3, 'e')",
)
LATER = {
    "rename": ["ALTER TABLE p RENAME e TO s"],
    "drop": ["ALTER TABLE p DROP e"],
    "drop and add": ["ALTER TABLE p DROP e", "ALTER TABLE p ADD e bigint DEFAULT 7"],
    "add": ["ALTER TABLE p ADD n int DEFAULT 1", "ALTER TABLE p RENAME n TO m"],
    "swap": ["ALTER TABLE p RENAME e TO h", "ALTER TABLE p RENAME x TO e", "ALTER TABLE p RENAME h TO x"],
    "type again": ["ALTER TABLE p ALTER e TYPE text USING 'n' || e", "ALTER TABLE p RENAME e TO s"],
    "detach": ["ALTER TABLE p DETACH PARTITION p2", "ALTER TABLE p RENAME e TO s", "ALTER TABLE p2 DROP e"],
    "attach": [
        "ALTER TABLE p RENAME e TO s",
        "CREATE TABLE p9 PARTITION OF p FOR VALUES IN (9)",
        "INSERT INTO p VALUES (9, 9, 9)",
    ],
}


@BOTH
@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_columns_change_while_a_refresh_of_all_partitions_waits(make: Make, later: list[str]) -> None:
    replica = make(*START)
    replica.at_source(LOSSY, *later)
    replica.settle()
    replica.at_source("DELETE FROM p WHERE id = 2", "UPDATE p SET id = id + 10 WHERE id < 3")
    assert replica.settle().refresh.tables == {}


@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_columns_change_in_a_later_part_of_the_log(make: Make, later: list[str]) -> None:
    replica = make(*START)
    replica.at_source(LOSSY)
    replica.capture()
    replica.adapt()
    for statement in later:
        replica.at_source(statement)
        replica.adapt()
    replica.settle()


def test_a_column_of_the_targets_own_survives(make: Make) -> None:
    replica = make(*START)
    replica.at_target("ALTER TABLE p ADD own text", "UPDATE p SET own = 'mine' || id")
    replica.at_source(LOSSY, "ALTER TABLE p RENAME e TO s")
    replica.replicate()
    assert replica.rows("SELECT id, s, own FROM p ORDER BY id") == [(i, 1, f"mine{i}") for i in range(1, 6)]
