"""A default that not every reader takes from a table's metadata is written into the rows: the table is read by all."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = pytest.mark.xdist_group("spark")
ORDERS = TableName("public", "orders")
FAR = {
    "until": ("timestamp", "infinity"),
    "since": ("timestamptz", "-infinity"),
    "day": ("date", "infinity"),
    "ides": ("date", "0044-03-15 BC"),
    "year_1_bc": ("timestamp", "0001-12-31 00:00:00 BC"),
    "later": ("timestamp", "10000-01-01 00:00:00"),
    "share": ("float8", "NaN"),
    "limit": ("float4", "-Infinity"),
}
NEAR = {"at": ("timestamp", "9999-12-31 23:59:59"), "first": ("date", "0001-01-01"), "part": ("float8", "1.5")}


@pytest.mark.usefixtures("lake_spark")
def test_infinite_and_far_defaults_are_in_the_rows_and_not_in_the_metadata(
    databases: Databases, tmp_path: Path
) -> None:
    lake = Lake(databases.source, tmp_path)
    lake.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'order ' || i from generate_series(1, 3) i",
    )
    lake.activate()
    added = ", ".join(f"add \"{name}\" {of} default '{value}'" for name, (of, value) in {**FAR, **NEAR}.items())
    lake.at_source(
        f"begin; insert into orders values (4, 'before'); alter table orders {added};"
        " insert into orders (id) values (5); update orders set note = 'behind' where id = 1; commit"
    )
    lake.settle()
    fields = {one.name: one.initial_default for one in lake.table(ORDERS).schema().fields}
    assert {name for name, default in fields.items() if default is not None} == NEAR.keys()
