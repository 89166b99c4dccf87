"""Tables in which nothing tells two rows apart: their rows arrive, and a comparison counts them."""

from __future__ import annotations

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make

TABLES = {
    "none": ["CREATE TABLE t ()"],
    "dropped": ["CREATE TABLE t (a int)", "ALTER TABLE t DROP a"],
    "generated": ["CREATE TABLE t (a int GENERATED ALWAYS AS (7) STORED, b int GENERATED ALWAYS AS (8) STORED)"],
    "partition": [
        "CREATE TABLE p (k int GENERATED ALWAYS AS (NULL::int) STORED, a int) PARTITION BY LIST (a)",
        "CREATE TABLE t PARTITION OF p DEFAULT",
    ],
}
ROW = "INSERT INTO t DEFAULT VALUES"


@BOTH
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_come_and_go_and_are_counted(make: Make, table: list[str]) -> None:
    replica = make(*table, ROW)
    replica.check_equal()
    replica.at_source(ROW, ROW)
    replica.settle()
    assert replica.rows("SELECT count(*) FROM t") == [(3,)]
    replica.at_source("DELETE FROM t WHERE ctid = (SELECT min(ctid) FROM t)")
    replica.settle()
    assert replica.rows("SELECT count(*) FROM t") == [(2,)]
    replica.at_target(ROW)
    found = next(one for one in replica.compare().tables if one.table.name == "t")
    assert (found.extra, found.missing, found.source_rows, found.target_rows) == (1, 0, 2, 3)
    replica.at_target("DELETE FROM t")
    assert replica.compare().differences == 2
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.repair(run).differences == 0
    assert replica.rows("SELECT count(*) FROM t") == [(2,)]
