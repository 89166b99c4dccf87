"""A target has its source's primary key, whichever key tells the rows of the log apart."""

from __future__ import annotations

import pytest

from tests.support.replica import BOTH, Make, Replica

KEYS = (
    "SELECT contype::text || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE conrelid = '{}'::regclass AND contype IN ('p', 'u') UNION ALL"
    " SELECT 'index ' || regexp_replace(indexdef, '.* USING', 'USING') FROM pg_indexes"
    " WHERE tablename = '{}' AND indexname NOT IN (SELECT conname FROM pg_constraint) ORDER BY 1"
)
IDENTITY = "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND indisreplident"
WRITES = ("INSERT INTO t (a) VALUES (7)", "UPDATE t SET a = a + 10 WHERE a < 3", "DELETE FROM t WHERE a = 3")


def keys(replica: Replica, table: str = "t") -> list[str]:
    return [str(row[0]) for row in replica.rows(KEYS.format(table, table))]


@BOTH
def test_over_a_stored_generated_column(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a * 2) STORED, v text, PRIMARY KEY (a, b))",
        "INSERT INTO t (a) SELECT generate_series(1, 5)",
    )
    assert keys(replica) == ["p PRIMARY KEY (a, b)"]
    replica.at_source("ALTER TABLE t REPLICA IDENTITY FULL", *WRITES)
    replica.settle()
    replica.at_source(
        "CREATE TABLE late (g int PRIMARY KEY GENERATED ALWAYS AS (7) STORED)", "INSERT INTO late DEFAULT VALUES"
    )
    replica.settle()
    assert keys(replica, "late") == ["p PRIMARY KEY (g)"]


@BOTH
def test_it_comes_and_goes_over_a_generated_column(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (a int NOT NULL, b int GENERATED ALWAYS AS (a * 2) STORED)",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "INSERT INTO t VALUES (1), (2), (3)",
    )
    replica.at_source("ALTER TABLE t ADD PRIMARY KEY (b)", *WRITES)
    assert replica.settle().refresh.tables == {}
    assert keys(replica) == ["p PRIMARY KEY (b)"]
    replica.at_source("ALTER TABLE t ALTER b DROP EXPRESSION", "INSERT INTO t VALUES (20, 1)")
    replica.settle()
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "UPDATE t SET b = b + 100 WHERE a = 20")
    replica.settle()
    assert keys(replica) == ["p PRIMARY KEY (b)"]
    replica.at_source(
        "ALTER TABLE t REPLICA IDENTITY FULL", "ALTER TABLE t DROP CONSTRAINT t_pkey", "INSERT INTO t VALUES (20, 1)"
    )
    replica.settle()
    assert keys(replica) == []


@BOTH
def test_a_generated_key_whose_expression_stays_at_the_source(make: Make) -> None:
    """Its values are loaded; where the log has them not, the table is told to lack them."""
    replica = make(
        "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 + 1'",
        "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (f(a)) STORED, PRIMARY KEY (a, b))",
        "INSERT INTO t VALUES (1), (2), (3)",
    )
    assert replica.rows("SELECT * FROM t ORDER BY 1") == [(1, 2), (2, 3), (3, 4)]
    assert keys(replica) == ["p PRIMARY KEY (a, b)"]


@BOTH
def test_beside_the_index_of_the_replica_identity(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (a int NOT NULL, v text)",
        "CREATE UNIQUE INDEX own ON t (a)",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX own",
        "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 5) i",
    )
    assert keys(replica) == ["index USING btree (a)"]
    replica.at_source("ALTER TABLE t ADD COLUMN k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", *WRITES)
    replica.settle()
    both = ["index USING btree (a)", "p PRIMARY KEY (k)"]
    assert keys(replica) == both
    assert replica.rows(IDENTITY) == [(1,)]
    replica.refresh("public.t")
    replica.settle()
    assert keys(replica) == both
    replica.at_target("CREATE VIEW hangs AS SELECT a FROM t")
    for options in ("", "-gr"):
        replica.refresh("public.t", options=options)
        replica.at_source("UPDATE t SET v = v || 'x'", "INSERT INTO t VALUES ((SELECT max(a) + 1 FROM t), 'y')")
        replica.settle()
        assert keys(replica) == both
    replica.at_source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "UPDATE t SET a = a + 100")
    assert replica.settle().refresh.tables == {}
    assert keys(replica) == ["p PRIMARY KEY (k)"]


@BOTH
def test_the_replica_identity_moves_to_an_index_and_back(make: Make) -> None:
    """The primary key stays all the time: foreign keys at the target may refer to it."""
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL UNIQUE)",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    )
    replica.at_target("CREATE TABLE referring (id int REFERENCES t)", "INSERT INTO referring VALUES (4)")
    for identity in ("USING INDEX t_a_key", "DEFAULT", "USING INDEX t_a_key", "FULL", "USING INDEX t_pkey"):
        replica.at_source(f"ALTER TABLE t REPLICA IDENTITY {identity}", "UPDATE t SET id = id - 10 WHERE id < 0")
        replica.at_source("UPDATE t SET id = id - 10 WHERE id IN (1, 2)", "UPDATE t SET a = a + 10 WHERE id <> 4")
        assert replica.settle().refresh.tables == {}
        assert "p PRIMARY KEY (id)" in keys(replica)
        assert len(keys(replica)) == (2 if "t_a_key" in identity else 1)


@BOTH
def test_a_partitioned_table_and_its_partitions(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (a int NOT NULL, k int NOT NULL, PRIMARY KEY (k, a)) PARTITION BY LIST (k)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1)",
        "CREATE UNIQUE INDEX own ON t (a, k)",
        "INSERT INTO t VALUES (1, 1), (2, 1), (3, 1)",
    )
    identity = "ALTER TABLE {0} REPLICA IDENTITY USING INDEX {1}"
    replica.at_source(identity.format("t", "own"), identity.format("t1", "t1_a_k_idx"))
    replica.at_source("UPDATE t SET a = a + 10 WHERE a < 3", "INSERT INTO t VALUES (8, 1)")
    replica.settle()
    assert keys(replica, "t1") == ["index USING btree (a, k)", "p PRIMARY KEY (k, a)"]
    replica.at_source("CREATE TABLE t2 PARTITION OF t FOR VALUES IN (2)", "INSERT INTO t VALUES (8, 2)")
    replica.at_source(identity.format("t2", "t2_a_k_idx"), "UPDATE t SET a = a + 10 WHERE a = 8")
    replica.settle()
    assert keys(replica, "t2") == ["index USING btree (a, k)", "p PRIMARY KEY (k, a)"]
    replica.at_source(
        "ALTER TABLE t1 REPLICA IDENTITY DEFAULT", "ALTER TABLE t2 REPLICA IDENTITY DEFAULT", "DROP INDEX own"
    )
    replica.at_source("UPDATE t SET a = a + 1 WHERE a = 3")
    replica.settle()
    assert keys(replica, "t1") == ["p PRIMARY KEY (k, a)"]


@pytest.mark.parametrize(
    ("index", "rows"),
    [("(a record_image_ops)", ["ROW(1.0)::pair", "ROW(1.00)::pair"])],
    ids=["image"],
)
def test_an_index_that_calls_equal_values_different_is_no_key(make: Make, index: str, rows: list[str]) -> None:
    replica = make(
        "CREATE TYPE pair AS (n numeric)",
        "CREATE TABLE t (a pair NOT NULL)",
        f"CREATE UNIQUE INDEX ON t {index}",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        *(f"INSERT INTO t VALUES ({row})" for row in rows),
    )
    replica.at_source(f"DELETE FROM t WHERE a::text = ({rows[1]})::text", f"INSERT INTO t VALUES ({rows[1]})")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM t") == [(2,)]


@pytest.mark.parametrize("databases", [18], indirect=True)
def test_without_overlaps(make: Make) -> None:
    replica = make(
        "CREATE EXTENSION btree_gist",
        "CREATE TABLE t (a int, at daterange, v text, PRIMARY KEY (a, at WITHOUT OVERLAPS))",
        "INSERT INTO t VALUES (1, '[2020-01-01,2020-02-01)', 'x'), (1, '[2020-02-01,2020-03-01)', 'y')",
    )
    replica.at_source(
        "UPDATE t SET at = '[2020-02-05,2020-03-01)' WHERE v = 'y'",
        "INSERT INTO t VALUES (1, '[2020-02-01,2020-02-05)', 'z')",
        "DELETE FROM t WHERE v = 'x'",
    )
    replica.settle()
    assert keys(replica) == ["p PRIMARY KEY (a, at)"]
