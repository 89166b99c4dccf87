"""A deferrable primary key is at the target as it is at the source; rows whose keys pass each other arrive."""

from __future__ import annotations

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make, Replica

KEY = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'"
IMMEDIATE, DEFERRED = "DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"
ROWS = "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 5) i"
SWAP = "UPDATE t SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE id END"
when = pytest.mark.parametrize("when", [IMMEDIATE, DEFERRED])


def table(key: str) -> str:
    return f"CREATE TABLE t (id int, v text, PRIMARY KEY (id) {key})"


def key_of(replica: Replica) -> str:
    return "".join(row[0] for row in replica.rows(KEY))


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
@when
def test_it_comes_by_the_load_and_keys_pass_each_other(make: Make, when: str) -> None:
    replica = make(table(when), ROWS)
    assert key_of(replica) == f"PRIMARY KEY (id) {when}"
    replica.at_source(SWAP, "UPDATE t SET id = id + 1", "INSERT INTO t VALUES (1, 'new')")
    replica.at_source("BEGIN; INSERT INTO t VALUES (9, 'a'); UPDATE t SET id = 10 - id WHERE id IN (1, 9); COMMIT")
    replica.settle()
    replica.at_source(
        "BEGIN; UPDATE t SET id = id + 1; DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (3, 'n'); COMMIT"
    )
    replica.settle()
    replica.at_source("UPDATE t SET id = -id")
    replica.settle()


def test_two_rows_share_it_within_a_transaction(make: Make) -> None:
    replica = make(table(DEFERRED), ROWS)
    replica.at_source("BEGIN; INSERT INTO t VALUES (1, 'other'); DELETE FROM t WHERE v = 'v1'; COMMIT")
    replica.settle()
    assert replica.rows("SELECT v FROM t WHERE id = 1") == [("other",)]


@when
def test_it_comes_with_a_new_table(make: Make, when: str) -> None:
    replica = make("CREATE TABLE beside (id int PRIMARY KEY)")
    replica.at_source(table(when), ROWS, SWAP)
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (id) {when}"


@pytest.mark.parametrize("first", ["", IMMEDIATE, DEFERRED])
@pytest.mark.parametrize("then", ["", IMMEDIATE, DEFERRED, None])
def test_it_becomes_another_one(make: Make, first: str, then: str | None) -> None:
    """Also one that is not deferrable, or none."""
    replica = make(table(first), ROWS)
    again = f", ADD PRIMARY KEY (id) {then}" if then is not None else ""
    replica.at_source(
        f"ALTER TABLE t DROP CONSTRAINT t_pkey{again}", "UPDATE t SET id = id + 10", "INSERT INTO t VALUES (1)"
    )
    replica.settle()
    assert key_of(replica) == ("" if then is None else f"PRIMARY KEY (id) {then}".rstrip())


def test_it_is_there_when_a_dropped_table_is_made_again(make: Make) -> None:
    replica = make(table(""), ROWS)
    replica.at_source(
        "DROP TABLE t", "CREATE TABLE t (n int, id int PRIMARY KEY DEFERRABLE)", "INSERT INTO t VALUES (1, 1)"
    )
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (id) {IMMEDIATE}"
    replica.at_source("DROP TABLE t", table(""), ROWS)
    replica.settle()
    assert key_of(replica) == "PRIMARY KEY (id)"


@pytest.mark.parametrize("hangs", ["", "CREATE VIEW hangs AS SELECT id FROM t"], ids=["replaced", "exchanged"])
@pytest.mark.parametrize("options", ["", "-gr"])
def test_a_refresh_keeps_it(make: Make, hangs: str, options: str) -> None:
    replica = make(table(DEFERRED), ROWS)
    replica.at_target(*[hangs] if hangs else [], "UPDATE t SET v = 'wrong' WHERE id = 2", "DELETE FROM t WHERE id = 3")
    replica.refresh("public.t", options=options)
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (id) {DEFERRED}"
    replica.at_source(SWAP)
    replica.settle()


def test_a_replication_key_beside_it(make: Make) -> None:
    """Rows are told apart by that one, and the other one's values wander."""
    replica = make(
        "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE, u int NOT NULL UNIQUE)", "INSERT INTO t VALUES (1, 7), (2, 8)"
    )
    replica.at_source(SWAP, "UPDATE t SET u = u + 5", "INSERT INTO t VALUES (3, 9)")
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (id) {IMMEDIATE}"


def test_a_partitioned_table_has_it(make: Make) -> None:
    replica = make(
        f"CREATE TABLE t (id int, v text, PRIMARY KEY (id) {DEFERRED}) PARTITION BY RANGE (id)",
        "CREATE TABLE p PARTITION OF t FOR VALUES FROM (0) TO (10)",
        ROWS,
    )
    replica.at_source(SWAP, "CREATE TABLE q PARTITION OF t FOR VALUES FROM (10) TO (20)", "UPDATE t SET id = id + 3")
    replica.settle()
    replica.at_source(
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        "ALTER TABLE t ADD PRIMARY KEY (id)",
        SWAP.replace("ELSE", "WHEN 0 THEN 9 ELSE"),
    )
    replica.settle()
    assert key_of(replica) == "PRIMARY KEY (id)"


def test_a_rename_and_a_drop_of_its_columns(make: Make) -> None:
    replica = make(
        "CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b) DEFERRABLE)", "INSERT INTO t VALUES (1, 2, 'x')"
    )
    replica.at_source("ALTER TABLE t RENAME a TO c", "INSERT INTO t VALUES (2, 1)")
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (c, b) {IMMEDIATE}"
    replica.at_source("ALTER TABLE t DROP b", "INSERT INTO t VALUES (2)")
    replica.settle()
    assert key_of(replica) == ""


def test_compare_finds_that_it_is_not_there(make: Make) -> None:
    replica = make(table(DEFERRED), ROWS)
    replica.at_target("ALTER TABLE t DROP CONSTRAINT t_pkey")
    assert "primary key is (none)" in replica.compare().text()


def test_a_repair_brings_it_back(make: Make) -> None:
    replica = make(table(DEFERRED), ROWS)
    replica.at_target("ALTER TABLE t DROP CONSTRAINT t_pkey", "UPDATE t SET v = 'wrong' WHERE id = 2")
    assert replica.compare().differences
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.repair(run)
    replica.settle()
    assert key_of(replica) == f"PRIMARY KEY (id) {DEFERRED}"
