"""A partitioned table's column gets another type and other values: its partitions are loaded anew."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import BOTH, Make


@BOTH
def test_rows_that_can_not_be_converted_are_in_nobodys_way_but_for_a_partition_of_somebodys_own(make: Make) -> None:
    replica = make("CREATE TABLE p(id int, k int) PARTITION BY LIST (k)", "CREATE TABLE p0 PARTITION OF p DEFAULT")
    replica.at_source(
        "INSERT INTO p VALUES (1, 0)",
        "CREATE TABLE p1 (LIKE p)",
        "INSERT INTO p1 VALUES (2, 1)",
        "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1)",
        "ALTER TABLE p ALTER id TYPE timestamptz USING now()",
    )
    assert set(replica.settle().refresh.tables) == {"public.p", "public.p0", "public.p1"}
    replica.at_target("CREATE TABLE own PARTITION OF p FOR VALUES IN (7)", "INSERT INTO own VALUES (now(), 7)")
    replica.at_source("ALTER TABLE p ALTER id TYPE int USING 5")
    with pytest.raises(DdlReplError, match=r"its partition public\.own has rows|must be owner of table own"):
        replica.replicate()
    assert replica.rows("SELECT k FROM own") == [(7,)]


@pytest.mark.parametrize("settled", [True, False])
def test_a_partition_leaves_a_table_that_was_renamed(make: Make, settled: bool) -> None:
    replica = make("CREATE TABLE p (k int) PARTITION BY LIST (k)", "CREATE TABLE one PARTITION OF p FOR VALUES IN (1)")
    replica.at_source("INSERT INTO p VALUES (1)")
    replica.settle()
    replica.at_source("ALTER TABLE p RENAME TO q", "CREATE TABLE p (k int)")
    if settled:
        replica.settle()
    replica.at_source("ALTER TABLE q DETACH PARTITION one", "INSERT INTO one VALUES (5)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT k FROM one ORDER BY k") == [(1,), (5,)]
