"""Rows of a lake's tables are sorted in their files as the channel file says, by loads, windows and maintenance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ConfigError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

ORDERS, VISITS = TableName("public", "orders"), TableName("public", "visits")
ORDERS_MADE = (
    "create table orders (id int primary key, customer int, at timestamp, note text)",
    "insert into orders select i, i % 7, timestamp '2026-01-01' + i * 37 % 11 * interval '1 day', 'of ' || i"
    " from generate_series(1, 40) i",
)


def sort(lake: Lake, *entries: dict[str, Any], **more: Any) -> Lake:
    """Write how tables are sorted into the channel file."""
    found = yaml.safe_load(lake.file.read_text())
    found["targets"][0] |= {"sort": [*entries], **more}
    lake.file.write_text(yaml.safe_dump(found, sort_keys=False))
    return lake


def order(lake: Lake, name: TableName) -> list[tuple[str, str]]:
    """The columns and directions that PyIceberg reads."""
    table = lake.table(name)
    schema = table.schema()
    return [(schema.find_column_name(one.source_id) or "", one.direction.name) for one in table.sort_order().fields]


def check_sorted(lake: Lake, *by: tuple[str, str]) -> int:
    """The rows of each file of the orders are sorted; how many files there are."""
    paths = lake.table(ORDERS).inspect.data_files()["file_path"].to_pylist()
    for path in paths:
        rows = pq.read_table(path.removeprefix("file:"))
        keys = pa.table({name: rows[name] for name, _ in by})
        assert keys.sort_by([*by]).equals(keys), f"the rows of {path} are not sorted by {by}"
        assert rows["id"].to_pylist() != sorted(rows["id"].to_pylist()) or len(rows) < 4
    return len(paths)


@pytest.mark.xdist_group("spark")
def test_rows_are_sorted_in_their_files(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    lake, by = Lake(databases.source, tmp_path), ["customer", "at desc"]
    sort(lake, {"tables": ["public.orders"], "by": by}, {"tables": ["public.visits"], "by": ["n"]},
         partitions=[{"tables": ["public.visits"], "by": ["bucket(2, id)"]}])  # fmt: skip
    lake.at_source(*ORDERS_MADE)
    lake.activate()
    assert order(lake, ORDERS) == [("customer", "ASC"), ("at", "DESC")]
    asked = ("customer", "ascending"), ("at", "descending")
    check_sorted(lake, *asked)
    lake.at_source(
        "insert into orders select i, 50 - i % 3, '2026-02-02', 'late' from generate_series(100, 120) i",
        "update orders set customer = 9 where id < 5; delete from orders where id = 7",
        "create table visits (id int primary key, n int)",
        "insert into visits select i, -i from generate_series(1, 20) i",
    )
    lake.settle()
    assert order(lake, VISITS) == [("n", "ASC")] and len(lake.table(VISITS).spec().fields) == 1
    assert check_sorted(lake, *asked) > 1
    with flow.open_channel(lake.file, InProcess()) as run:
        flow.by_arguments.maintain(run, retain="5d", small_files="2", deleted_percent="1")
    assert check_sorted(lake, *asked) == 1
    lake.settle()

    lake.at_source(
        "alter table orders rename customer to who", "alter table orders add more int default 5",
        "update orders set more = 6 where id = 1",
    )  # fmt: skip
    lake.settle()
    assert order(lake, ORDERS) == [("who", "ASC"), ("at", "DESC")]
    lake.at_source("alter table orders drop who", "insert into orders values (200, now(), 'without', 1)")
    lake.settle()
    assert order(lake, ORDERS) == [("at", "DESC")]
    sort(lake, {"tables": ["public.orders"], "by": ["at", "more desc"]})
    lake.at_source("alter table orders alter at type text")  # the lake loads it: the column is another one there
    lake.settle()
    assert order(lake, ORDERS) == [("at", "ASC"), ("more", "DESC")]
    lake.at_source("alter table orders alter more type numeric", "insert into orders values (201, 'text', 'last', 2)")
    lake.settle()
    lake.refresh("public.orders")
    assert order(lake, ORDERS) == [("at", "ASC"), ("more", "DESC")]
    check_sorted(lake, ("at", "ascending"))
    lake.check_equal()


def test_a_column_that_a_table_does_not_have_is_refused(databases: Databases, tmp_path: Path) -> None:
    lake = sort(Lake(databases.source, tmp_path), {"tables": ["public.orders"], "by": ["id", "customers"]})
    lake.at_source(*ORDERS_MADE)
    with pytest.raises(Unsupported, match="sorted by customers: the table has no such column") as refused:
        lake.activate()
    assert (refused.value.code, refused.value.table) == ("ADP-196", "public.orders")


@pytest.mark.parametrize("by", ["", "customer up", "bucket(4, id)", "customer, at"])
def test_what_is_no_column_to_sort_by_is_refused(databases: Databases, tmp_path: Path, by: str) -> None:
    lake = sort(Lake(databases.source, tmp_path), {"tables": ["public.orders"], "by": [by]})
    with pytest.raises(ConfigError, match="no column to sort by"):
        lake.activate()
