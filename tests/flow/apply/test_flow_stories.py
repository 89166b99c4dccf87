"""Stories on real servers: a source changes its tables and its rows, a cycle runs, the target equals it."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.replica import BOTH, Make, Replica

STORIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "rows without a key": (
        ("CREATE TABLE k(a int, b text)", "INSERT INTO k SELECT i % 3, 'x' FROM generate_series(1, 30) i"),
        (
            "DELETE FROM k WHERE ctid IN (SELECT ctid FROM k WHERE a = 1 LIMIT 4)",
            "UPDATE k SET b = 'y' WHERE ctid IN (SELECT ctid FROM k LIMIT 5)",
        ),
    ),
    "an enum grows and is renamed": (
        (
            "CREATE TYPE mood AS ENUM ('a', 'b')",
            "CREATE TABLE e(id int PRIMARY KEY, m mood, ms mood[])",
            "INSERT INTO e VALUES (1, 'a', '{a,b}')",
        ),
        (
            "ALTER TYPE mood ADD VALUE 'c'",
            "INSERT INTO e VALUES (2, 'c', '{c}')",
            "ALTER TYPE mood RENAME VALUE 'a' TO 'aa'",
            "INSERT INTO e VALUES (3, 'aa', NULL)",
        ),
        ("ALTER TYPE mood RENAME TO feeling", "UPDATE e SET m = 'b'"),
    ),
    "a domain loses its check": (
        (
            "CREATE DOMAIN pos AS int CHECK (value > 0)",
            "CREATE TABLE d(id pos PRIMARY KEY, p pos)",
            "INSERT INTO d VALUES (1, 1)",
        ),
        ("ALTER DOMAIN pos DROP CONSTRAINT pos_check", "INSERT INTO d VALUES (-1, -5)"),
    ),
    "a composite type gets an attribute": (
        (
            "CREATE TYPE addr AS (street text, no int)",
            "CREATE TABLE c(id int PRIMARY KEY, a addr, aa addr[])",
            "INSERT INTO c VALUES (1, ('x', 2), ARRAY[('y', 3)::addr])",
        ),
        (
            "ALTER TYPE addr ADD ATTRIBUTE zip text",
            "UPDATE c SET a = ('z', 1, 'q') WHERE id = 1",
            "INSERT INTO c VALUES (2, NULL, NULL)",
        ),
    ),
    "values out of line stay": (
        (
            "CREATE TABLE t1(id int PRIMARY KEY, big text, x int)",
            "ALTER TABLE t1 ALTER big SET STORAGE EXTERNAL",
            "INSERT INTO t1 VALUES (1, repeat('a', 100000), 1), (2, repeat('b', 100000), 1)",
        ),
        ("UPDATE t1 SET x = 2", "UPDATE t1 SET id = 10 WHERE id = 1"),
        (
            "CREATE TABLE t2(big text, x int)",
            "ALTER TABLE t2 ALTER big SET STORAGE EXTERNAL",
            "INSERT INTO t2 VALUES (repeat('a', 100000), 1)",
        ),
        ("UPDATE t2 SET x = 5",),
    ),
    "keys and names are swapped": (
        (
            "CREATE TABLE sk(id int PRIMARY KEY, v text)",
            "INSERT INTO sk VALUES (1, 'a'), (2, 'b')",
            "CREATE TABLE sb(id int PRIMARY KEY, v text)",
            "INSERT INTO sb VALUES (5, 'five')",
        ),
        (
            "UPDATE sk SET id = 3 WHERE id = 1; UPDATE sk SET id = 1 WHERE id = 2; UPDATE sk SET id = 2 WHERE id = 3",
            "ALTER TABLE sk RENAME TO aside",
            "ALTER TABLE sb RENAME TO sk",
            "ALTER TABLE aside RENAME TO sb",
            "INSERT INTO sk VALUES (77, 'in old sb')",
            "ALTER TABLE sk RENAME COLUMN v TO w",
        ),
    ),
    "schemas and names that need quotes": (
        (
            'CREATE SCHEMA "My Schema" CREATE TABLE t(id int PRIMARY KEY)',
            'CREATE TABLE "My Schema"."Tab ""le; %s"("Id%" int PRIMARY KEY, "näme ""q""" text)',
            """INSERT INTO "My Schema"."Tab ""le; %s" VALUES (1, '%s; drop ''x'' "')""",
        ),
        (
            'ALTER TABLE "My Schema"."Tab ""le; %s" ADD COLUMN "a b" int',
            'UPDATE "My Schema"."Tab ""le; %s" SET "a b" = 1',
            'ALTER SCHEMA "My Schema" RENAME TO other',
            'INSERT INTO other."Tab ""le; %s" VALUES (2, NULL, NULL)',
            'ALTER TABLE other."Tab ""le; %s" SET SCHEMA public',
            "CREATE TABLE t(id int PRIMARY KEY) PARTITION BY LIST (id); DROP TABLE other.t",
            "ALTER TABLE t SET SCHEMA other",  # where the kept table has an index of that name
        ),
    ),
    "DDL in blocks and functions, and undone": (
        (
            "DO $$ BEGIN CREATE TABLE db(id int PRIMARY KEY); INSERT INTO db VALUES (1); ALTER TABLE db ADD x text;"
            " INSERT INTO db VALUES (2, 'y'); END $$",
            "BEGIN; CREATE TABLE rb(i int); INSERT INTO rb VALUES (1); ROLLBACK",
            "BEGIN; CREATE TABLE rb(i int PRIMARY KEY); INSERT INTO rb VALUES (1); SAVEPOINT a;"
            " ALTER TABLE rb ADD z int; INSERT INTO rb VALUES (2, 2); ROLLBACK TO a; INSERT INTO rb VALUES (3); COMMIT",
            "CREATE FUNCTION mk() RETURNS void LANGUAGE plpgsql AS"
            " $$ BEGIN CREATE TABLE fn(i int); INSERT INTO fn VALUES (5); END $$",
            "SELECT mk()",
        ),
    ),
    "keys come, go and change": (
        ("CREATE TABLE pk(a int, b int)", "INSERT INTO pk VALUES (1, 1), (2, 2)"),
        ("ALTER TABLE pk ADD PRIMARY KEY (a)", "UPDATE pk SET b = 9 WHERE a = 1"),
        (
            "ALTER TABLE pk DROP CONSTRAINT pk_pkey",
            "UPDATE pk SET b = 10 WHERE a = 2",
            "INSERT INTO pk VALUES (2, 10)",
        ),
        (
            "DELETE FROM pk WHERE ctid = (SELECT ctid FROM pk WHERE a = 2 LIMIT 1)",
            "ALTER TABLE pk ADD COLUMN c serial",
            "ALTER TABLE pk ADD PRIMARY KEY (c)",
            "DELETE FROM pk WHERE a = 1",
        ),
    ),
    "a type is dropped with its columns, a schema with its tables": (
        (
            "CREATE TYPE t9 AS ENUM ('q')",
            "CREATE TABLE dc(id int PRIMARY KEY, x t9, y int)",
            "INSERT INTO dc VALUES (1, 'q', 2)",
        ),
        (
            "DROP TYPE t9 CASCADE",
            "INSERT INTO dc VALUES (2, 3)",
            "CREATE SCHEMA gone",
            "CREATE TABLE gone.t(i int)",
            "INSERT INTO gone.t VALUES (1)",
        ),
        ("DROP SCHEMA gone CASCADE",),
    ),
    "tables share a type that is renamed after their rows": (
        (
            "CREATE TYPE mood AS ENUM ('a')",
            "CREATE TABLE m1(id int PRIMARY KEY, m mood)",
            "CREATE TABLE m2(id int PRIMARY KEY, m mood)",
        ),
        ("INSERT INTO m2 VALUES (1, 'a')", "INSERT INTO m1 VALUES (1, 'a')", "ALTER TYPE mood RENAME TO feeling"),
    ),
    "a type's name is used again for another type, while a kept table still has the old one": (
        (
            "CREATE TYPE mood AS (street text, no int)",
            "CREATE TABLE t(id int PRIMARY KEY, m mood)",
            "INSERT INTO t VALUES (1, ('x', 1))",
        ),
        (
            "DROP TABLE t",
            "DROP TYPE mood",
            "CREATE TYPE mood AS ENUM ('a')",
            "CREATE TABLE u(id int PRIMARY KEY, m mood, ms mood[])",
            "INSERT INTO u VALUES (1, 'a', '{a}')",
        ),
        ("CREATE TABLE t(id int PRIMARY KEY, m mood DEFAULT 'a')", "INSERT INTO t VALUES (2)"),
        (
            "DROP TABLE t, u",
            "DROP TYPE mood",
            "CREATE TYPE mood AS ENUM ('b', 'a')",
            "CREATE TABLE t(id int PRIMARY KEY, m mood)",
            "INSERT INTO t VALUES (1, 'b')",
        ),
        (
            "DROP TABLE t",
            "DROP TYPE mood",
            "CREATE DOMAIN mood AS int CHECK (value > 0)",
            "CREATE TABLE t(id mood PRIMARY KEY)",
            "INSERT INTO t VALUES (1)",
        ),
    ),
    "a kept table's name is used again and again": (
        ("CREATE TABLE t(id int PRIMARY KEY)", "CREATE TABLE u(id int PRIMARY KEY)", "INSERT INTO t VALUES (1)"),
        ("DROP TABLE t", "CREATE TABLE t(a text)", "INSERT INTO t VALUES ('x')"),
        ("DROP TABLE t", "ALTER TABLE u RENAME TO t"),
        ("ALTER TABLE t RENAME TO v", "CREATE TABLE t(b int)", "INSERT INTO t VALUES (5)"),
        ("DROP TABLE t", "CREATE TABLE t(c int)", "ALTER TABLE t RENAME TO w", "ALTER TABLE v RENAME TO t"),
    ),
    "a table is renamed while it waits for a refresh, and another one gets its name": (
        ("CREATE TABLE t(id int PRIMARY KEY)", "INSERT INTO t VALUES (1)"),
        (
            "ALTER TABLE t ADD u uuid DEFAULT gen_random_uuid()",
            "ALTER TABLE t RENAME TO u",
            "CREATE TABLE t(id text)",
            "INSERT INTO t VALUES ('new')",
        ),
        (
            "ALTER TABLE u ADD v uuid DEFAULT gen_random_uuid()",
            "DROP TABLE u",
            "CREATE TABLE u(id int, v int)",
            "INSERT INTO u VALUES (1, 2)",
        ),
    ),
    "a column in the partition key is renamed": (
        (
            "CREATE TABLE p(id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
            "CREATE TABLE p1 PARTITION OF p DEFAULT",
            "INSERT INTO p VALUES (1, 2)",
        ),
        ("ALTER TABLE p RENAME k TO kind", "INSERT INTO p VALUES (2, 3)"),
        (
            "ALTER TABLE p RENAME kind TO aside; ALTER TABLE p RENAME id TO kind; ALTER TABLE p RENAME aside TO id",
            "INSERT INTO p VALUES (3, 4)",
        ),
    ),
}


@BOTH
@pytest.mark.parametrize("cycles", STORIES.values(), ids=STORIES)
def test_the_target_equals_the_source_after_every_cycle(make: Make, cycles: tuple[tuple[str, ...], ...]) -> None:
    replica = make()
    for statements in cycles:
        replica.at_source(*statements)
        replica.settle()


@BOTH
def test_a_table_joins_the_log_later(make: Make) -> None:
    replica = make()
    replica.at_source("CREATE UNLOGGED TABLE ul(i int PRIMARY KEY)", "INSERT INTO ul VALUES (1)")
    replica.at_source("CREATE TABLE lg(i int)", "INSERT INTO lg VALUES (5)")
    replica.settle(left_out={"public.ul"})
    replica.at_source("ALTER TABLE ul SET LOGGED", "INSERT INTO ul VALUES (2)")
    replica.settle()
    assert replica.rows("SELECT i FROM ul UNION ALL SELECT i FROM lg ORDER BY 1") == [(1,), (2,), (5,)]


@BOTH
def test_partitions_come_go_move_and_are_emptied(make: Make) -> None:
    replica = make()
    replica.at_source(
        "CREATE TABLE p(id int, day date, v text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
        "INSERT INTO p VALUES (1, '2026-01-05', 'a')",
    )
    replica.settle()
    replica.at_source(
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
        "INSERT INTO p VALUES (2, '2026-02-05', 'b')",
        "UPDATE p SET day = '2026-02-06' WHERE id = 1",
        "ALTER TABLE p ADD COLUMN w int DEFAULT 5",
        "INSERT INTO p VALUES (3, '2026-01-02', 'c', 9)",
    )
    replica.settle()
    replica.at_source(
        "ALTER TABLE p DETACH PARTITION p1",
        "TRUNCATE p1",
        "INSERT INTO p1 VALUES (7, '2026-01-09', 'z', 1)",
        "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
    )
    replica.settle()
    assert replica.rows("SELECT id FROM p ORDER BY id") == [(1,), (2,), (7,)]
    replica.at_source("DROP TABLE p2", "ALTER TABLE p DROP COLUMN v")
    replica.settle()


@pytest.mark.req("HVR-O-14", "HVR-D-22", "HVR-D-33", "HVR-D-40", "HVR-D-68", "HVR-P-96")
@BOTH
def test_no_table_is_reloaded_for_a_change_that_an_alter_can_carry(make: Make) -> None:
    replica = make(
        "CREATE TABLE t(id int PRIMARY KEY, a int, b varchar(5), c numeric(5,2), d timestamp, gone int, e int)",
        "INSERT INTO t VALUES (1, 1, 'abc', 1.25, '2026-01-01 10:00', 5, 6)",
    )
    steps = [
        "ALTER TABLE t ADD plain text",
        "ALTER TABLE t ADD filled int NOT NULL DEFAULT 7",
        "ALTER TABLE t ADD stamped timestamptz DEFAULT now()",
        "ALTER TABLE t DROP gone",
        "ALTER TABLE t RENAME a TO aa",
        "ALTER TABLE t ALTER aa TYPE bigint, ALTER b TYPE varchar(30), ALTER c TYPE numeric(9,2)",
        "ALTER TABLE t ALTER aa TYPE text USING aa::text",
        "ALTER TABLE t ALTER d TYPE timestamptz",
        "ALTER TABLE t ALTER e SET NOT NULL, ALTER b SET DEFAULT 'x', ALTER b SET NOT NULL",
        "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (id, b)",
        "ALTER TABLE t ADD computed text GENERATED ALWAYS AS (id::text || 'g') STORED",
        "ALTER TABLE t RENAME TO renamed",
        "CREATE SCHEMA s2",
        "ALTER TABLE renamed SET SCHEMA s2",
    ]
    for number, step in enumerate(steps, start=2):
        replica.at_source(step)
        table = next((n for n in ("t", "renamed") if has(replica, n)), "s2.renamed")
        replica.at_source(f"UPDATE {table} SET id = id + 100" if number % 2 else "SELECT 1")
        result = replica.settle()
        assert result.refresh.tables == {}, step
    gone = "SELECT FROM pg_attribute WHERE attrelid = 's2.renamed'::regclass AND attname = 'gone'"
    assert replica.rows(gone) == []


def has(replica: Replica, name: str) -> bool:
    with psycopg.connect(replica.source) as connection:
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"public.{name}"]).fetchone()
    return bool(row and row[0])


@pytest.mark.req("HVR-O-10", "HVR-D-48", "HVR-P-34", "HVR-P-35")
@BOTH
def test_values_that_the_log_does_not_carry_are_loaded_of_that_table_only(make: Make) -> None:
    replica = make(
        "CREATE TABLE vd(id int PRIMARY KEY, n int)",
        "INSERT INTO vd SELECT i, i FROM generate_series(1, 50) i",
        "CREATE TABLE bystander(id int PRIMARY KEY)",
    )
    replica.at_source("ALTER TABLE vd ADD u uuid DEFAULT gen_random_uuid()", "INSERT INTO vd(id) VALUES (99)")
    assert list(replica.settle().refresh.tables) == ["public.vd"]
    replica.at_source("ALTER TABLE vd ALTER n TYPE text USING n * 2", "INSERT INTO bystander VALUES (1)")
    assert list(replica.settle().refresh.tables) == ["public.vd"]


@pytest.mark.req("HVR-D-02", "HVR-D-03", "HVR-D-04", "HVR-P-01", "HVR-O-05")
@BOTH
def test_a_new_table_joins_with_all_its_rows_loaded_only_when_it_is_born_with_some(make: Make) -> None:
    replica = make()
    replica.at_source("CREATE TABLE fresh(id int PRIMARY KEY)", "INSERT INTO fresh VALUES (1), (2), (3)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT count(*) FROM fresh") == [(3,)]
    replica.at_source("CREATE TABLE copied AS SELECT * FROM fresh")
    assert replica.settle().refresh.tables == {"public.copied": 3}


@pytest.mark.req("HVR-D-59", "HVR-D-61", "HVR-D-63")
@BOTH
def test_truncate_stands_at_its_place_among_the_rows(make: Make) -> None:
    replica = make("CREATE TABLE t(id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.at_source("INSERT INTO t VALUES (2)", "TRUNCATE t", "INSERT INTO t VALUES (3)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id FROM t") == [(3,)]


@pytest.mark.req("HVR-D-91", "HVR-D-92", "HVR-D-93", "HVR-D-70", "HVR-D-69")
def test_what_is_no_table_stays_at_the_source(make: Make) -> None:
    replica = make("CREATE TABLE t(id int PRIMARY KEY, r int)", "CREATE TABLE u(id int PRIMARY KEY)")
    replica.at_source(
        "CREATE VIEW v AS SELECT * FROM t",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
        "ALTER TABLE t ADD FOREIGN KEY (r) REFERENCES u",
        "CREATE INDEX ON t (r) WITH (fillfactor = 70)",
        "CREATE PROCEDURE p() LANGUAGE sql AS 'SELECT'",
        "BEGIN; CREATE ROLE nobodys_role; CREATE USER nobodys_user; DROP ROLE nobodys_role, nobodys_user; COMMIT",
        "INSERT INTO t VALUES (1, NULL)",
    )
    result = replica.settle()
    assert (result.adapt.statements, result.refresh.tables) == (0, {})
    assert replica.rows("SELECT id FROM t") == [(1,)]
    assert replica.rows("SELECT to_regclass('v'), to_regproc('f'), to_regproc('p')") == [(None, None, None)]


@pytest.mark.req("HVR-P-89", "HVR-P-92")
@BOTH
def test_a_dropped_table_is_kept_and_used_again(make: Make) -> None:
    replica = make("CREATE TABLE t(id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.at_source("DROP TABLE t")
    replica.replicate()
    assert replica.rows("SELECT * FROM t") == [(1, 1)]
    replica.at_source("CREATE TABLE t(id int PRIMARY KEY, b text)", "INSERT INTO t VALUES (2, 'x')")
    replica.settle()
    assert replica.rows("SELECT * FROM t") == [(2, "x")]


@pytest.mark.req("HVR-P-90", "HVR-D-10")
def test_a_dropped_table_goes_at_the_target_where_the_policy_says_so(make: Make) -> None:
    drop = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    replica = make("CREATE TABLE t(id int PRIMARY KEY)", adapt_ddl=drop)
    replica.at_source("DROP TABLE t")
    replica.settle()
    assert replica.rows("SELECT to_regclass('t')") == [(None,)]
