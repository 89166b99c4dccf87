"""Columns of the row type of a table or a view: a target has a type of its own with the same attributes."""

from __future__ import annotations

from tests.support.replica import BOTH, Make

TABLES = (
    "CREATE TABLE rt (a int PRIMARY KEY, b text)",
    "CREATE TABLE holder (id int PRIMARY KEY, r rt, many rt[])",
    "INSERT INTO rt VALUES (1, 'x')",
    "INSERT INTO holder SELECT i, ROW(i, 'v' || i)::rt, ARRAY[ROW(i, 'w')::rt] FROM generate_series(1, 5) i",
)


@BOTH
def test_it_is_loaded_and_follows(make: Make) -> None:
    replica = make(*TABLES)
    replica.at_source(
        "UPDATE holder SET r.b = 'other' WHERE id = 2",
        "UPDATE rt SET b = 'y'",
        "INSERT INTO holder VALUES (6, NULL, '{}')",
        "DELETE FROM holder WHERE id = 3",
    )
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT (r).b, (many[1]).a FROM holder WHERE id = 2") == [("other", 2)]


@BOTH
def test_the_table_changes_while_its_row_type_is_used(make: Make) -> None:
    replica = make(*TABLES)
    replica.at_source(
        "ALTER TABLE rt ADD COLUMN c date",
        "INSERT INTO holder VALUES (7, (7, 'seven', '2020-01-01'), ARRAY[(1, 'x', NULL)::rt])",
        "ALTER TABLE rt RENAME b TO d",
        "UPDATE holder SET r.d = 'renamed' WHERE id = 2",
        "ALTER TABLE rt DROP COLUMN c",
        "INSERT INTO holder VALUES (8, (8, 'eight'), NULL)",
        "ALTER TABLE rt RENAME TO called",
        "UPDATE holder SET r = (9, 'nine')::called WHERE id = 4",
        "INSERT INTO called VALUES (3, 'three')",
    )
    replica.settle()
    replica.refresh("public.called", "public.holder")
    replica.settle()
    replica.at_source(
        "ALTER TABLE called ADD e int", "UPDATE holder SET r.e = id", "DROP TABLE holder", "DROP TABLE called"
    )
    replica.settle()


@BOTH
def test_around_it_are_arrays_domains_ranges_and_other_rows(make: Make) -> None:
    replica = make(
        "CREATE TABLE rt (a int, b text)",
        "CREATE TABLE outside (id int PRIMARY KEY, inner_row rt, more rt[])",
        "CREATE DOMAIN dom AS rt CHECK ((VALUE).a > 0)",
        "CREATE TYPE span AS RANGE (subtype = rt)",
        "CREATE TYPE made AS (n int, r rt)",
        "CREATE TABLE t (id int PRIMARY KEY, o outside, d dom, s span, m made, ds dom[])",
        "INSERT INTO t VALUES (1, (1, (1, 'x'), ARRAY[(2, 'y')::rt]), (1, 'd'), span((1, 'a'), (2, 'b')))",
        "UPDATE t SET m = (5, (6, 'm'))",
    )
    replica.at_source(
        "INSERT INTO t VALUES (2, NULL, (4, 'e'), 'empty', NULL, ARRAY[(1, 'x')::dom])",
        "UPDATE t SET o.inner_row.b = 'changed' WHERE id = 1",
    )
    replica.settle()
    replica.at_source("ALTER TABLE rt RENAME a TO z", "INSERT INTO t VALUES (3, NULL, (5, 'f'), NULL, (1, NULL), NULL)")
    replica.settle()
    replica.at_source("ALTER TABLE rt ADD c bool", "UPDATE t SET m.r.c = true WHERE id = 3")
    replica.settle()


@BOTH
def test_a_views_row_type(make: Make) -> None:
    replica = make(
        "CREATE TABLE base (a int PRIMARY KEY, b text)",
        "CREATE VIEW v AS SELECT a, b FROM base",
        "CREATE MATERIALIZED VIEW mv AS SELECT b FROM base",
        "CREATE TABLE holder (id int PRIMARY KEY, r v, m mv)",
        "INSERT INTO holder VALUES (1, (1, 'x'), ROW('y'))",
    )
    replica.at_source(
        "CREATE OR REPLACE VIEW v AS SELECT a, b, 1 AS c FROM base", "INSERT INTO holder VALUES (2, (2, 'y', 3), NULL)"
    )
    replica.settle()
    replica.at_source("ALTER VIEW v RENAME COLUMN c TO d", "ALTER VIEW v RENAME TO w", "UPDATE holder SET r.d = 5")
    replica.settle()


@BOTH
def test_a_table_whose_row_type_a_new_column_uses(make: Make) -> None:
    replica = make("CREATE TABLE rt (a int, b text)", "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.at_source(
        "ALTER TABLE t ADD r rt DEFAULT ROW(1, 'x')",
        "INSERT INTO t VALUES (2, DEFAULT), (3, (5, 'y'))",
        "CREATE TABLE parted (id int, r rt) PARTITION BY LIST (id)",
        "CREATE TABLE p1 PARTITION OF parted FOR VALUES IN (1)",
        "INSERT INTO parted VALUES (1, (1, 'p'))",
        "ALTER TABLE rt DROP a",
        "INSERT INTO parted VALUES (1, ROW('q'))",
    )
    replica.settle()
    replica.at_source(
        "ALTER TABLE t ALTER r DROP DEFAULT",
        "ALTER TABLE t ALTER r TYPE text USING (r).b",
        "INSERT INTO t VALUES (4, 'z')",
    )
    replica.settle()


@BOTH
def test_partitions_have_the_row_type_of_their_parent(make: Make) -> None:
    """A partitioned table's row type is used, and a partition's."""
    replica = make(
        "CREATE TABLE p (k int, v text) PARTITION BY LIST (k)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
        "CREATE TABLE holder (id int PRIMARY KEY, r p, r1 p1)",
        "INSERT INTO p VALUES (1, 'x')",
        "INSERT INTO holder SELECT 1, p, p1 FROM p, p1",
    )
    replica.at_source("ALTER TABLE p ADD c int", "INSERT INTO holder VALUES (2, (1, 'y', 2), (1, 'z', 3))")
    replica.settle()


@BOTH
def test_the_table_is_dropped_with_the_columns_of_its_row_type(make: Make) -> None:
    replica = make(*TABLES, "CREATE VIEW v AS SELECT 1 AS a", "ALTER TABLE holder ADD w v")
    replica.at_source("INSERT INTO holder VALUES (8, (8, 'x'), NULL, ROW(8))", "DROP TABLE rt CASCADE")
    replica.at_source("INSERT INTO holder VALUES (9, ROW(9))", "DROP VIEW v CASCADE", "INSERT INTO holder VALUES (10)")
    replica.settle()
    assert [
        name
        for (name,) in replica.rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'holder'::regclass AND attnum > 0 AND NOT attisdropped"
        )
    ] == ["id"]


@BOTH
def test_generated_columns_and_keys_read_it(make: Make) -> None:
    replica = make(
        "CREATE TABLE rt (a int, b text)",
        "CREATE TABLE t (id int PRIMARY KEY, r rt, g int GENERATED ALWAYS AS ((r).a + 1) STORED)",
        "CREATE TABLE keyed (r rt PRIMARY KEY, v int)",
        "INSERT INTO t VALUES (1, (1, 'x'))",
        "INSERT INTO keyed VALUES ((1, 'x'), 1), ((2, 'x'), 2)",
    )
    replica.at_source("UPDATE t SET r.a = 7", "UPDATE keyed SET r.a = v + 10", "DELETE FROM keyed WHERE v = 1")
    replica.settle()
    assert replica.rows("SELECT g FROM t") == [(8,)]
