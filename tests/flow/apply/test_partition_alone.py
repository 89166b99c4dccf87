"""Partitions that differ from their partitioned table in what they may: keys, NOT NULL and expressions of their own."""

from __future__ import annotations

from tests.conftest import Databases
from tests.support.replica import BOTH, Make


@BOTH
def test_a_key_of_its_own_is_dropped(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int NOT NULL, k int, v text) PARTITION BY LIST (k)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "CREATE UNIQUE INDEX own ON p1 (id)",
        "INSERT INTO p VALUES (1, 1, 'a')",
    )
    replica.at_source("DROP INDEX own", "INSERT INTO p VALUES (1, 1, 'b')")
    assert replica.settle().refresh.tables == {}


@BOTH
def test_keys_of_the_partitioned_table_and_of_a_partition_take_turns(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int, k int NOT NULL, v text NOT NULL, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "INSERT INTO p VALUES (1, 1, 'a')",
    )
    replica.at_source(
        "ALTER TABLE p DROP CONSTRAINT p_pkey, ADD PRIMARY KEY (k, v)", "INSERT INTO p VALUES (1, 1, 'b')"
    )
    replica.settle()
    replica.at_source(
        "ALTER TABLE p DROP CONSTRAINT p_pkey",
        "CREATE UNIQUE INDEX ON p (v, k)",
        "ALTER TABLE p1 ADD PRIMARY KEY (id, k, v)",
        "UPDATE p SET v = 'c' WHERE v = 'b'",
    )
    replica.settle()
    replica.at_source("ALTER TABLE p1 DROP CONSTRAINT p1_pkey", "UPDATE p SET v = 'd' WHERE v = 'c'")
    replica.settle()


@BOTH
def test_a_column_may_be_null_again(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY LIST (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "ALTER TABLE p1 ALTER v SET NOT NULL",
        "INSERT INTO p VALUES (1, 'a')",
    )
    replica.at_source("ALTER TABLE p1 ALTER v DROP NOT NULL", "UPDATE p SET v = NULL")
    replica.settle()


def test_an_expression_of_its_own_comes_and_goes(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int, v int, g int GENERATED ALWAYS AS (v * 2) STORED, PRIMARY KEY (id, v))"
        " PARTITION BY LIST (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "INSERT INTO p VALUES (1, 5)",
    )
    for change in ("p1 ALTER g SET EXPRESSION AS (v * 3)", "p1 ALTER g SET EXPRESSION AS (v * 2)"):
        replica.at_source(f"ALTER TABLE {change}", "INSERT INTO p SELECT 1, max(v) + 1 FROM p")
        replica.settle()
    replica.at_source("ALTER TABLE p ALTER g SET EXPRESSION AS (v * 4)", "INSERT INTO p VALUES (1, 70)")
    replica.settle()


def test_a_new_one_has_the_columns_of_a_table_that_does_not_follow(make: Make, databases: Databases) -> None:
    """A rule discards schema changes; a new partition is made in any case."""
    rules = {"negative": [{"tables": ["*.*"], "dml": False}]}
    replica = make(
        "CREATE TABLE p (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        targets=[{"name": "warehouse", "location": databases.target, "rules": rules}],
    )
    replica.at_source("ALTER TABLE p ADD c int", "INSERT INTO p VALUES (2, 1, 'b', 4)")
    replica.replicate()
    replica.at_source("CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)", "INSERT INTO p VALUES (2, 2, 'q', 5)")
    replica.replicate()
    assert replica.rows("SELECT * FROM p ORDER BY k") == [(2, 1, "b"), (2, 2, "q")]
