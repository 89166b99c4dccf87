"""Tables of a lake are partitioned as the channel file says, by columns of their keys, and stay so when they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from airflow_ddlrepl.errors import TablesSuspended, Unsupported
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake
from tests.support.replica import Replica, channel_file

ORDERS, VISITS = TableName("public", "orders"), TableName("public", "visits")
ORDERS_MADE = (
    "create table orders (id int, day date, note text, primary key (id, day))",
    "insert into orders select i, date '2026-01-01' + i % 3, 'of ' || i from generate_series(1, 30) i",
)
SomeReplica = TypeVar("SomeReplica", bound=Replica)
VISITS_MADE = "create table visits (at timestamptz primary key, n int)"


def partition(channel: SomeReplica, *entries: dict[str, Any]) -> SomeReplica:
    """Write how tables are partitioned into the channel file."""
    found = yaml.safe_load(channel.file.read_text())
    found["targets"][0]["partitions"] = [*entries]
    channel.file.write_text(yaml.safe_dump(found, sort_keys=False))
    return channel


def fields(lake: Lake, name: TableName) -> list[tuple[str, str]]:
    """The columns and transforms that PyIceberg reads."""
    table = lake.table(name)
    schema = table.schema()
    return [(schema.find_column_name(one.source_id) or "", str(one.transform)) for one in table.spec().fields]


@pytest.mark.xdist_group("spark")
def test_tables_are_partitioned_and_stay_so(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    lake = Lake(databases.source, tmp_path)
    orders = {"tables": ["public.orders"], "by": ["bucket(4, id)", "days(day)"]}
    partition(lake, orders, {"tables": ["public.visits"], "by": ["hours(at)"]})
    lake.at_source(*ORDERS_MADE)
    lake.activate()
    assert fields(lake, ORDERS) == [("id", "bucket[4]"), ("day", "day")]
    first = lake.table(ORDERS).current_snapshot().snapshot_id
    was = lake.as_of(ORDERS, first)
    assert lake.table(ORDERS).inspect.partitions().num_rows == 11
    lake.at_source(
        VISITS_MADE,
        "insert into visits values ('2026-01-01 10:30+00', 1), ('2026-01-01 11:30+00', 2)",
        "update orders set note = 'new' where id = 1; update orders set day = '2026-05-05' where id = 2",
        "delete from orders where id = 3",
        "alter table orders rename day to bought",
    )
    lake.settle()
    assert fields(lake, VISITS) == [("at", "hour")]
    assert fields(lake, ORDERS) == [("id", "bucket[4]"), ("bought", "day")]
    lake.refresh("public.orders")
    assert fields(lake, ORDERS) == [("id", "bucket[4]"), ("bought", "day")]
    partition(lake, {**orders, "by": ["bucket(2, id)", "months(bought)"]})
    lake.refresh("public.orders")
    assert fields(lake, ORDERS) == [("id", "bucket[2]"), ("bought", "month")]
    lake.check_equal()
    lake.at_source(
        "alter table orders drop constraint orders_pkey; alter table orders drop bought; alter table orders add primary"
        " key (id)",
        "update orders set note = 'last' where id = 4",
    )
    assert lake.as_of(ORDERS, first) == was
    with pytest.raises(TablesSuspended, match=r"ADP-130.*partition field"):
        lake.replicate()
    partition(lake, {**orders, "by": ["bucket(2, id)"]})
    lake.refresh("public.orders")
    lake.at_source("update orders set note = 'end' where id = 5")
    lake.settle()
    assert fields(lake, ORDERS) == [("id", "bucket[2]")]


@pytest.mark.parametrize(
    ("by", "why"),
    [
        ("bucket(4, more)", "has no such column"),
        ("note", "may change"),
        ("hours(day)", "hours takes no values of type DATE"),
        ("days(id)", "days takes no values of type INT"),
    ],
)
def test_what_a_table_can_not_be_partitioned_by_is_refused(
    databases: Databases, tmp_path: Path, by: str, why: str
) -> None:
    lake = partition(Lake(databases.source, tmp_path), {"tables": ["public.orders"], "by": [by]})
    lake.at_source(*ORDERS_MADE)
    with pytest.raises(Unsupported, match=why) as refused:
        lake.activate()
    assert (refused.value.code, refused.value.table) == ("ADP-196", "public.orders")


def test_a_target_that_is_no_lake_has_no_partitions(databases: Databases, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, f"duckdb://{tmp_path}/target.duckdb")
    replica = Replica(databases.source, "", file)
    partition(replica, {"tables": ["public.orders"], "by": ["id"]})
    replica.at_source(*ORDERS_MADE)
    with pytest.raises(Unsupported, match=r"ADP-195.*does not partition or sort tables"):
        replica.activate()
