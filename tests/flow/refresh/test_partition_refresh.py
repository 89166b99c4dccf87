"""Partitioned tables, their partitions and their types when rows are loaded that the log has not come to yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Make, Replica, channel_file

PARTED = (
    "CREATE TABLE p (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)",
    "INSERT INTO p VALUES (1, 1, 'a')",
)
CHANGES = (
    "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)",
    "INSERT INTO p VALUES (2, 2, 'b')",
    "ALTER TABLE p ADD c int DEFAULT 3",
    "ALTER TABLE p DROP v",
    "INSERT INTO p VALUES (3, 2, 9), (3, 1, 8)",
)


def test_the_columns_change_before_a_refresh_of_a_partition_by_hand(make: Make) -> None:
    """What partitions share is the log's to change: they wait for it."""
    replica = make(*PARTED)
    replica.at_source(*CHANGES)
    assert replica.refresh("public.p1").tables == {}
    assert set(replica.settle().refresh.tables) >= {"public.p1"}


@pytest.mark.parametrize("named", ["public.p", "*.*"])
def test_the_columns_change_before_a_refresh_by_hand(make: Make, named: str) -> None:
    """The partitioned table takes its columns of today, too; the partition that came joins it later."""
    replica = make(*PARTED)
    replica.at_source(*CHANGES)
    assert replica.refresh(named).tables == {"public.p": 0, "public.p1": 2}
    assert set(replica.settle().refresh.tables) == {"public.p2"}


def test_a_partitioned_table_is_refreshed_with_its_partitions(make: Make) -> None:
    replica = make(*PARTED)
    replica.at_target("UPDATE p SET v = 'spoilt'")
    assert replica.refresh("public.p").tables == {"public.p": 0, "public.p1": 1}
    replica.check_equal()


def test_partitions_of_partitions_are_activated_with_a_table_that_is_named_alone(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE s PARTITION OF p FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (id)",
        "CREATE TABLE leaf PARTITION OF s FOR VALUES FROM (0) TO (9)",
        "INSERT INTO p VALUES (1)",
        source={"tables": ["public.p"]},
        adapt_ddl=[],
    )
    replica.check_equal()
    replica.at_source("INSERT INTO p VALUES (2)")
    assert replica.settle().refresh.tables == {}


@pytest.mark.parametrize("statements", [CHANGES[:2], CHANGES], ids=["made", "made and altered"])
def test_a_partition_comes_while_the_partitioned_table_waits(
    databases: Databases, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*PARTED)
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.activate(run, load=False)
    replica.at_source(*statements)
    replica.settle()
    replica.at_source("INSERT INTO p (id, k) VALUES (5, 2)")
    assert replica.settle().refresh.tables == {}


LOST = "SELECT pg_drop_replication_slot('ddlrepl_shop')"


@pytest.mark.parametrize("more", ["SELECT 1", "ALTER TABLE p ADD n int NOT NULL DEFAULT 4", "ALTER TABLE p DROP v"])
def test_the_columns_change_in_log_that_is_lost(make: Make, more: str) -> None:
    replica = make(*PARTED)
    replica.at_source(LOST, *CHANGES[:3], more)
    replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO p (id, k, c) VALUES (7, 2, 4)")
    assert replica.settle().refresh.tables == {}


def test_columns_of_peoples_own_stay(make: Make) -> None:
    replica = make(*PARTED)
    replica.at_target("ALTER TABLE p ADD own text", "UPDATE p SET own = 'mine'")
    replica.at_source(LOST, "ALTER TABLE p ADD c int DEFAULT 3", "INSERT INTO p VALUES (2, 1, 'b', 4)")
    replica.activate()
    assert replica.rows("SELECT id, c, own FROM p ORDER BY id") == [(1, 3, "mine"), (2, 4, None)]


def test_values_that_an_old_row_can_not_have(make: Make) -> None:
    replica = make(*PARTED)
    replica.at_source(LOST, "UPDATE p SET v = 5", "ALTER TABLE p ALTER v TYPE int USING v::int")
    replica.activate()
    replica.settle()


def test_partitions_stand_in_each_others_way(make: Make) -> None:
    replica = make(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY LIST (id)",
        "CREATE TABLE p5 PARTITION OF p FOR VALUES IN (7)",
        "CREATE TABLE pd PARTITION OF p DEFAULT",
        "CREATE TABLE p6 PARTITION OF p FOR VALUES IN (6)",
        "INSERT INTO p VALUES (5), (6), (7)",
    )
    replica.at_source(
        LOST,
        "ALTER TABLE p DETACH PARTITION p5",
        "ALTER TABLE p DETACH PARTITION p6",
        "TRUNCATE p, p5, p6",
        "ALTER TABLE p ATTACH PARTITION p5 FOR VALUES IN (6)",
        "ALTER TABLE p ATTACH PARTITION p6 FOR VALUES IN (5)",
        "CREATE TABLE pn PARTITION OF p FOR VALUES IN (8)",
        "INSERT INTO p VALUES (5), (6), (8)",
    )
    replica.activate()
    replica.settle()


def test_a_table_that_can_not_be_placed_is_in_nobodys_way(make: Make) -> None:
    tables = [f"CREATE TABLE {name} (id int PRIMARY KEY, v text)" for name in "abc"]
    replica = make(*tables, *(f"INSERT INTO {name} VALUES (1, 'x')" for name in "abc"))
    replica.at_target("CREATE VIEW va AS SELECT v FROM a", "CREATE VIEW vc AS SELECT v FROM c")
    replica.at_source(*(f"ALTER TABLE {name} ALTER v TYPE int USING 5" for name in "abc"))
    with pytest.raises(CannotAdapt, match="ADP-131"):
        replica.replicate()
    assert replica.rows("SELECT v FROM b") == [(5,)]
    replica.at_target("DROP VIEW va, vc")
    replica.settle()


def test_a_table_that_waits_becomes_a_partition(make: Make) -> None:
    """It gets its key by the refresh, and can be no partition before."""
    replica = make(*PARTED)
    replica.at_source(
        "CREATE TABLE p3 AS SELECT 3 AS id, 3 AS k, 'c'::text AS v",
        "ALTER TABLE p3 ADD PRIMARY KEY (id, k)",
        "ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3)",
        "ALTER TABLE p ADD c int DEFAULT 4",
        "INSERT INTO p VALUES (4, 3, 'd', 5)",
    )
    assert replica.settle().refresh.tables == {"public.p3": 2}
