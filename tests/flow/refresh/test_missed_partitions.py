"""Partitions that come to the source while their table is suspended at a target: its load brings them, too."""

from __future__ import annotations

import pytest

from tests.support.replica import Make, Replica
from tests.support.suspending import ACCEPT_ALL, cycle_fails, states

START = (
    "CREATE TABLE r (id int, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
    "CREATE TABLE r_rest PARTITION OF r DEFAULT",
    "CREATE TABLE x (id int PRIMARY KEY)",
    "INSERT INTO r VALUES (1, 1)",
    "INSERT INTO x VALUES (1)",
)
NEW = "CREATE TABLE p PARTITION OF r FOR VALUES IN (6)"
SWAP = ("ALTER TABLE x RENAME TO tmp", "ALTER TABLE p RENAME TO x", "ALTER TABLE tmp RENAME TO p")


@pytest.fixture
def replica(make: Make) -> Replica:
    """The target refuses the row 100 for a while."""
    made = make(*START)
    made.at_target("ALTER TABLE r_rest ADD CONSTRAINT small CHECK (id < 100)")
    made.at_source("INSERT INTO r VALUES (100, 1)")
    return made


@pytest.mark.parametrize("is_known", [True, False], ids=["suspended before", "in one cycle"])
@pytest.mark.parametrize(
    "later",
    [
        (),
        ("ALTER TABLE p RENAME TO q",),
        ("ALTER TABLE r DETACH PARTITION p",),
        ("DROP TABLE p", NEW, "INSERT INTO r VALUES (4, 6)"),
        (
            "CREATE TABLE s PARTITION OF r FOR VALUES IN (7) PARTITION BY LIST (k)",
            "CREATE TABLE s_7 PARTITION OF s DEFAULT",
            "INSERT INTO r VALUES (4, 7)",
        ),
        SWAP,
    ],
    ids=["stays", "renamed", "detached", "made again", "partitioned itself", "exchanged"],
)
def test_a_load_brings_partitions_that_are_new(replica: Replica, later: tuple[str, ...], *, is_known: bool) -> None:
    if is_known:
        cycle_fails(replica)
    replica.at_source(NEW, "INSERT INTO r VALUES (2, 6)", *later)
    cycle_fails(replica)
    replica.at_target("ALTER TABLE r_rest DROP CONSTRAINT small")
    replica.refresh("public.r")
    replica.at_source("INSERT INTO r VALUES (3, 8)", "UPDATE r SET id = id + 10")
    replica.settle()
    assert set(states(replica).values()) == {"live"}


def test_a_partition_whose_name_another_table_got_later_comes_by_a_load(replica: Replica) -> None:
    """The other table had no such name yet at that place of the log: no catch-up can make both."""
    cycle_fails(replica)
    replica.at_source(NEW, *SWAP, "INSERT INTO r VALUES (2, 6)")
    cycle_fails(replica)
    replica.at_target("ALTER TABLE r_rest DROP CONSTRAINT small")
    replica.settle()
    assert set(states(replica).values()) == {"live"}


@pytest.mark.parametrize("gone", ["DROP TABLE p", "ALTER TABLE r DETACH PARTITION p; DROP TABLE p"])
def test_a_partition_that_is_gone_is_none_at_the_target_either(make: Make, gone: str) -> None:
    """No catch-up can bring up the others, one of which gives its name away: a load takes its place."""
    replica = make(*START, NEW, "INSERT INTO r VALUES (2, 6)")
    replica.at_target("ALTER TABLE r_rest ADD CONSTRAINT small CHECK (id < 100)")
    replica.at_source("INSERT INTO r VALUES (100, 1), (5, 6)")
    cycle_fails(replica)
    replica.at_source(
        "ALTER TABLE x RENAME TO tmp; ALTER TABLE r_rest RENAME TO x; ALTER TABLE x RENAME TO y",
        "ALTER TABLE tmp RENAME TO x",
        gone,
        "INSERT INTO r VALUES (3, 8)",
    )
    cycle_fails(replica)
    replica.at_target(ACCEPT_ALL)
    replica.settle()
    assert replica.rows("SELECT k FROM r ORDER BY 1") == [(1,), (1,), (8,)]
    assert states(replica)["r"] == "live"
    replica.at_target("ALTER TABLE r ATTACH PARTITION p FOR VALUES IN (6)")  # as an older version has left it
    assert "public.p is a partition" in replica.compare().text()


def test_a_partition_that_came_and_went_while_the_others_waited_stops_nobody(make: Make) -> None:
    """The target has never had it: there is nothing to detach."""
    replica = make(*START)
    replica.at_target("ALTER TABLE r_rest ADD CONSTRAINT small CHECK (id < 100)")
    replica.at_source("INSERT INTO r VALUES (100, 1)")
    cycle_fails(replica)
    replica.at_source(
        NEW,
        "INSERT INTO r VALUES (5, 6)",
        "ALTER TABLE x RENAME TO tmp; ALTER TABLE r_rest RENAME TO x; ALTER TABLE x RENAME TO y",
        "ALTER TABLE tmp RENAME TO x",
        "DROP TABLE p",
        "INSERT INTO r VALUES (3, 8)",
    )
    cycle_fails(replica)
    replica.at_target(ACCEPT_ALL)
    replica.settle()
    assert set(states(replica).values()) == {"live"}
