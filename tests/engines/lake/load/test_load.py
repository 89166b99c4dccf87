"""A load leaves a lake's table what it is: its earlier snapshots show the rows and columns of their time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.types import StringType, TimestamptzType

from airflow_ddlrepl.engines import chunks
from airflow_ddlrepl.engines.lake.load.place import place
from airflow_ddlrepl.errors import TablesSuspended
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("lake_spark")]

ORDERS = TableName("public", "orders")


@pytest.fixture
def lake(databases: Databases, tmp_path: Path) -> Lake:
    return Lake(databases.source, tmp_path)


def ids(lake: Lake) -> dict[str, int]:
    return {field.name: field.field_id for field in lake.table(ORDERS).schema().fields}


def now(lake: Lake) -> int:
    """The snapshot that a table has now."""
    found: int = lake.table(ORDERS).current_snapshot().snapshot_id
    return found


def test_a_table_is_read_as_of_a_moment_before_each_kind_of_change(lake: Lake) -> None:
    lake.at_source(
        "create table orders (id int primary key, note text, n int, gone text)",
        "insert into orders values (1, 'one', 10, 'x'), (2, 'two', 20, 'y')",
    )
    lake.activate()
    before, uuid, first = ids(lake), lake.table(ORDERS).metadata.table_uuid, now(lake)
    was = (["id", "note", "n", "gone"], [(1, "one", 10, "x"), (2, "two", 20, "y")])
    assert lake.as_of(ORDERS, first) == was

    lake.at_source("alter table orders rename note to remark", "insert into orders values (3, 'three', 30, 'z')")
    lake.settle()
    renamed = now(lake)
    lake.at_source("alter table orders drop column gone", "update orders set n = 31 where id = 3")
    lake.settle()
    dropped = now(lake)
    lake.at_source("alter table orders alter n type bigint", "update orders set n = 2147483648 where id = 1")
    lake.settle()
    widened = now(lake)
    lake.refresh("public.orders")
    loaded = now(lake)
    lake.at_source(
        "delete from orders where id = 2",
        "alter table orders alter n type text",
        "alter table orders add note int",
        "update orders set n = '31' where id = 3",
    )
    lake.settle()

    assert lake.as_of(ORDERS, first) == was
    assert lake.as_of(ORDERS, renamed) == (["id", "remark", "n", "gone"], [*was[1], (3, "three", 30, "z")])
    assert lake.as_of(ORDERS, dropped) == (["id", "remark", "n"], [(1, "one", 10), (2, "two", 20), (3, "three", 31)])
    wide = (["id", "remark", "n"], [(1, "one", 2147483648), (2, "two", 20), (3, "three", 31)])
    assert lake.as_of(ORDERS, widened) == lake.as_of(ORDERS, loaded) == wide
    assert lake.as_of(ORDERS, now(lake)) == (
        ["id", "remark", "n", "note"], [(1, "one", "2147483648", None), (3, "three", "31", None)],
    )  # fmt: skip
    after = ids(lake)
    assert (after["id"], after["remark"]) == (before["id"], before["note"])
    assert after["n"] not in before.values() and after["note"] not in before.values()
    assert lake.table(ORDERS).metadata.table_uuid == uuid


def test_a_load_changes_columns_by_identity_also_where_somebody_changes_the_table_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.at_source(
        "create table orders (id int primary key, a text, b text, n double precision)",
        "insert into orders select i, 'a' || i, 'b' || i, i from generate_series(1, 900) i",
    )
    monkeypatch.setattr(chunks, "MINIMUM_BYTES", 8192)
    lake.activate()
    before, uuid, first = ids(lake), lake.table(ORDERS).metadata.table_uuid, now(lake)
    assert lake.table(ORDERS).inspect.files().num_rows > 1

    def late(*args: Any) -> None:
        lake.by_hand(ORDERS, "ALTER TABLE {} ADD COLUMN mine STRING", "UPDATE {} SET mine = 'x' WHERE id = 3")
        place(*args)

    monkeypatch.setattr("airflow_ddlrepl.engines.lake.load.loader.place", late)
    lake.at_source(
        "alter table orders rename a to t; alter table orders rename b to a; alter table orders rename t to b;"
        " alter table orders alter n type int, alter id type bigint; delete from orders where id > 4",
    )
    lake.replicate()
    columns, rows = lake.as_of(ORDERS, now(lake))
    assert columns == ["id", "b", "a", "n", "mine"]
    assert rows == [(i, f"a{i}", f"b{i}", i, "x" if i == 3 else None) for i in range(1, 5)]
    after = ids(lake)
    assert (after["b"], after["a"], after["id"]) == (before["a"], before["b"], before["id"])
    assert after["n"] not in before.values() and lake.table(ORDERS).metadata.table_uuid == uuid
    assert sorted(lake.as_of(ORDERS, first)[1]) == [(i, f"a{i}", f"b{i}", i) for i in range(1, 901)]


RETYPED = {
    "a": ("int", "text", ["-7", "0", "2147483647"]),
    "b": ("bigint", "int", ["-7", "0", "2147483647"]),
    "c": ("numeric(10,4)", "numeric(10,2)", ["1.005", "-1.005", "2.3449"]),
    "d": ("int", "numeric(12,1)", ["-7", "0", "2147483647"]),
    "e": ("boolean", "text", ["true", "false", "true"]),
    "f": ("numeric(8,2)", "bigint", ["0.5", "-2.5", "3.49"]),
    "g": ("bigint", "double precision", ["9007199254740993", "-1", "9223372036854775807"]),
    "h": ("numeric(7,6)", "text", ["0.000001", "0", "-1.5"]),
    "i": ("numeric(5,1)", "numeric(9,4)", ["1.5", "-9999.9", "0"]),
}


def test_values_that_spark_converts_as_the_source_are_not_loaded_again(lake: Lake) -> None:
    names = ", ".join(RETYPED)
    columns = ", ".join(f"{name} {old}" for name, (old, _, _) in RETYPED.items())
    rows = ", ".join(f"({i}, {', '.join(values[i] for _, _, values in RETYPED.values())}, 'x')" for i in range(3))
    lake.at_source(
        f"create table orders (id int primary key, {columns}, note text)",
        f"insert into orders (id, {names}, note) values {rows}, (9{', null' * len(RETYPED)}, null)",
    )
    lake.activate()
    first = now(lake)
    was = lake.as_of(ORDERS, first)
    types = ", ".join(f"alter {name} type {new}" for name, (_, new, _) in RETYPED.items())
    lake.at_source(f"alter table orders {types}")
    lake.settle()
    assert lake.as_of(ORDERS, first) == was
    table = lake.table(ORDERS)
    assert [field.name for field in table.schema().fields] == ["id", *RETYPED, "note"]
    assert not any("load-" in path for path in table.inspect.files()["file_path"].to_pylist())
    assert table.current_snapshot().summary["total-delete-files"] == "0"
    assert table.properties["write.update.mode"] == "merge-on-read"
    found = {row["id"]: row for row in lake.read(ORDERS)}
    assert (found["0"]["c"], found["1"]["c"], found["1"]["f"], found["0"]["h"]) == ("1.01", "-1.01", "-3", "0.000001")
    lake.at_source("update orders set a = 'no number' where id = 1")
    lake.settle()


def test_a_type_that_the_source_changes_without_a_rewrite_is_loaded_where_iceberg_lacks_it(lake: Lake) -> None:
    """PostgreSQL's server is in UTC: a timestamp has the bytes of the one with time zone."""
    lake.at_source(
        "create table orders (id int primary key, at timestamp, n numeric(20,8), x varchar(5), d numeric(20,3))",
        "insert into orders values (1, '2026-11-28 08:00', 0.00000001, 'a', 1.5), (2, null, null, null, null)",
    )
    lake.activate()
    lake.at_source("alter table orders alter at type timestamptz, alter n type numeric, alter x type text")
    lake.settle()
    assert [field.field_type for field in lake.table(ORDERS).schema().fields[1:3]] == [TimestamptzType(), StringType()]
    lake.at_source("alter table orders alter d type numeric")
    lake.settle()
    assert lake.read(ORDERS)[0]["d"] == "1.500"


def test_the_last_column_of_a_table_is_not_dropped(lake: Lake) -> None:
    lake.at_source("create table orders (id int)", "insert into orders values (1)")
    lake.activate()
    lake.at_source("alter table orders drop column id")
    with pytest.raises(TablesSuspended, match=r"ADP-110.*at least one column"):
        lake.replicate()
    assert lake.read(ORDERS) == [{"id": "1"}]
