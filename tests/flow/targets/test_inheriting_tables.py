"""Tables that people have at a target, and that inherit from the channel's, keep their rows."""

from __future__ import annotations

import pytest

from tests.support.replica import BOTH, Make, Replica

HEIRS = (
    "CREATE TABLE heir () INHERITS (t)",
    "INSERT INTO heir VALUES (1, 1), (2, 2), (3, 3)",
    "CREATE TABLE copy () INHERITS (n)",
    "INSERT INTO copy VALUES (1), (2)",
)
START = (
    "CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE)",
    "CREATE TABLE n (v int)",
    "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    "INSERT INTO n VALUES (1), (1), (2)",
)
CHANGES = (
    "UPDATE t SET v = 10 WHERE id = 1",
    "DELETE FROM t WHERE id = 2",
    "UPDATE t SET id = 4 WHERE id = 3",
    "DELETE FROM n WHERE ctid = (SELECT min(ctid) FROM n)",
    "DELETE FROM n WHERE v = 2",
)


def keep(replica: Replica) -> None:
    """Check that the rows that inherit are as they were made."""
    assert replica.rows("SELECT id, v FROM heir ORDER BY 1") == [(1, 1), (2, 2), (3, 3)]
    assert replica.rows("SELECT v FROM copy ORDER BY 1") == [(1,), (2,)]


@BOTH
@pytest.mark.parametrize("renamed", [(), ("ALTER TABLE t RENAME TO u", "ALTER TABLE n RENAME TO m")])
def test_changes_reach_the_channel_s_rows_alone(make: Make, renamed: tuple[str, ...]) -> None:
    replica = make(*START)
    replica.at_target(*HEIRS)
    names = ("u", "m") if renamed else ("t", "n")
    changes = [one.replace(" t ", f" {names[0]} ").replace(" n ", f" {names[1]} ") for one in CHANGES]
    replica.at_source(*renamed, *(one.replace("FROM n)", f"FROM {names[1]})") for one in changes))
    replica.replicate()
    assert replica.rows(f"SELECT * FROM ONLY {names[0]} ORDER BY 1") == [(1, 10), (4, 3)]
    assert replica.rows(f"SELECT * FROM ONLY {names[1]}") == [(1,)]
    keep(replica)


def test_values_that_wander_between_rows(make: Make) -> None:
    replica = make(*START)
    replica.at_target(*HEIRS)
    updates = ("UPDATE t SET v = -1 WHERE id = 1", "UPDATE t SET v = 1 WHERE id = 2", "UPDATE t SET v = 2 WHERE id = 1")
    replica.at_source(*updates)
    replica.replicate()
    assert replica.rows("SELECT * FROM ONLY t ORDER BY 1") == [(1, 2), (2, 1), (3, 3)]
    keep(replica)


def test_conflicts_are_looked_for_among_the_channel_s_rows(make: Make) -> None:
    answers = {"update_row_missing": "overwrite", "delete_row_missing": "ignore", "insert_row_exists": "overwrite"}
    replica = make(*START, conflicts=[{"tables": "t", **answers}])
    replica.at_target(*HEIRS, "DELETE FROM ONLY t")
    replica.at_source("UPDATE t SET v = 10 WHERE id = 1", "DELETE FROM t WHERE id = 2")
    replica.replicate()
    assert replica.rows("SELECT * FROM ONLY t ORDER BY 1") == [(1, 10)]
    keep(replica)


def test_rows_that_are_marked_as_deleted(make: Make) -> None:
    replica = make(*START, target_tables=[{"tables": "t", "soft_delete": "gone"}])
    replica.at_target(*HEIRS)
    replica.at_source("TRUNCATE t")
    replica.replicate()
    assert replica.rows("SELECT id, gone FROM ONLY t ORDER BY 1") == [(1, True), (2, True), (3, True)]
    assert replica.rows("SELECT DISTINCT gone FROM heir") == [(False,)]
    keep(replica)
