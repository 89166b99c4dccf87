"""A window adds one snapshot to a table whose columns change in it, and the table has every row as the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = pytest.mark.xdist_group("spark")
T = TableName("public", "t")


def test_rows_between_changes_of_columns_are_one_merge(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source(
        "create table first (id int primary key, note text, n int, gone text)",
        "insert into first select i, 'old ' || i, i, 'x' from generate_series(1, 6) AS i",
    )
    lake.activate()
    before = len(lake.table(TableName("public", "first")).snapshots())
    lake.at_source(
        "insert into first values (7, 'seven', 7, 'x'), (8, 'eight', 8, 'x'), (9, 'nine', 9, 'x')",
        "update first set note = 'two' where id = 2",
        "delete from first where id = 3",
        "alter table first alter n type bigint, alter id type bigint",
        "alter table first add state text default 'new', add plain int",
        "update first set state = 'paid' where id in (2, 8)",
        "delete from first where id = 9",
        "insert into first values (3, 'back', 33, 'y', 'again', 1), (9, 'nine again', 99, 'y', null, 2)",
        "alter table first drop gone",
        "alter table first rename note to remark",
        "alter table first rename to t",
        "update t set n = 44 where id = 4",
        "insert into t values (10, 'ten', 9000000000, 'big', 3)",
        "delete from t where id = 7",
        "alter table t drop plain, add gone int default 5",
        "update t set remark = remark || '!' where id > 3",
        "alter table t add last text",
    )
    lake.settle()
    assert len(lake.table(T).snapshots()) == before + 1
    assert [row["state"] for row in lake.read(T) if row["id"] in ("1", "2", "9")] == ["new", "paid", None]
