"""A lake of format 2 has the rows that one of format 3 has; what the format lacks is done by other means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake
from tests.support.lakes.reader import pointers

pytestmark = pytest.mark.xdist_group("spark")
ORDERS = TableName("public", "orders")


@pytest.mark.usefixtures("lake_spark")
def test_rows_and_schema_changes_come_into_tables_of_format_2(databases: Databases, tmp_path: Path) -> None:
    lake = Lake(databases.source, tmp_path, settings="format_version=2")
    lake.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
    )
    lake.activate()
    lake.at_source(
        "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
        " alter table orders add column at timestamptz default '2024-02-29 12:00:00+02';"
        " insert into orders values (60, 'late', null); update orders set n = 8 where id = 4; commit",
    )
    lake.settle()
    metadata = json.loads(Path(pointers(lake.location)[ORDERS].removeprefix("file:")).read_text())
    assert metadata["format-version"] == 2
    found = {row["id"]: (row["n"], row["at"]) for row in lake.read(ORDERS)}
    moment = "2024-02-29 10:00:00+00"
    assert len(found) == 50 and "3" not in found
    assert found["1"] == ("7", moment) and found["4"] == ("8", moment) and found["60"] == (None, moment)
