"""Tables of a catalog that changes one at a time are arranged as the channel file says, and partitions are tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.interrupted import Meanwhile
from tests.support.lakes.single import Single
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, DAYS = TableName("public", "orders"), TableName("public", "days")
ORDERS_MADE = (
    "create table orders (id int primary key, customer int, note text)",
    "insert into orders select i, i * 37 % 11, 'of ' || i from generate_series(1, 40) i",
)
DAYS_MADE = (
    "create table days (id int, day int, note text, primary key (id, day)) partition by list (day)",
    "create table days_1 partition of days for values in (1)",
    "create table days_2 partition of days for values in (2)",
    "insert into days select i, 1 + i % 2, 'first' from generate_series(1, 10) i",
)


def lake(databases: Databases, folder: Path, single: Single, **target: Any) -> Replica:
    """A channel into a lake. target: more of the file's target."""
    targets = [{"name": "warehouse", "location": single.location, **target}]
    drops = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    file = channel_file(folder, databases.source, single.location, targets=targets, adapt_ddl=drops)
    return Replica(databases.source, "", file)


def arranged(single: Single) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """By what the orders are partitioned, and by what they are sorted; the rows of each file are sorted."""
    table = single.table(ORDERS)
    schema = table.schema()
    partitions = [(schema.find_column_name(one.source_id), str(one.transform)) for one in table.spec().fields]
    order = [(schema.find_column_name(one.source_id), one.direction.name.lower()) for one in table.sort_order().fields]
    for path in table.inspect.data_files()["file_path"].to_pylist():
        rows = pq.read_table(path.removeprefix("file:"))
        named = {int(one.metadata[b"PARQUET:field_id"]): one.name for one in rows.schema}  # as columns were named then
        by = [
            (named[one.source_id], f"{of}ending") for one, (_, of) in zip(table.sort_order().fields, order, strict=True)
        ]
        keys = rows.select([name for name, _ in by])
        assert keys.sort_by(by).equals(keys), f"{path} is not sorted"
    return partitions, order


def test_rows_are_arranged_as_the_file_says(databases: Databases, tmp_path: Path, single: Single) -> None:
    partitions = [{"tables": ["public.orders"], "by": ["bucket(4, id)"]}]
    sort = [{"tables": ["public.orders"], "by": ["customer desc"]}]
    replica = lake(databases, tmp_path, single, partitions=partitions, sort=sort)
    replica.at_source(*ORDERS_MADE)
    replica.activate()
    assert arranged(single) == ([("id", "bucket[4]")], [("customer", "desc")])
    replica.at_source(
        "alter table orders rename customer to who; alter table orders rename to sales",
        "insert into sales select i, i % 7, 'late' from generate_series(100, 120) i",
        "update sales set who = 30 where id % 5 = 0; delete from sales where id = 7",
        "alter table sales rename to orders",
    )
    replica.settle()
    assert arranged(single) == ([("id", "bucket[4]")], [("who", "desc")])
    partitions[0]["by"], sort[0]["by"] = ["bucket(2, id)"], ["note"]
    lake(databases, tmp_path, single, partitions=partitions, sort=sort)
    replica.refresh("public.orders")
    assert arranged(single) == ([("id", "bucket[2]")], [("note", "asc")])
    replica.check_equal()


def test_the_partitions_of_a_table_are_tables(
    databases: Databases, tmp_path: Path, single: Single, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where somebody else writes to one while a window is published: all are loaded in the same cycle."""
    replica = lake(databases, tmp_path, single)
    replica.at_source(*DAYS_MADE)
    replica.activate()
    first, second, third, apart = (TableName("public", name) for name in ("days_1", "days_2", "days_3", "apart"))
    assert single.pointers().keys() == {first, second} and len(single.read(first)) == 5
    replica.at_source(
        "create table days_3 partition of days for values in (3)",
        "begin; update days set day = 3 where id < 4; alter table days add n int default 7; commit",
        "alter table days detach partition days_1; alter table days_1 rename to apart",
        "insert into apart values (100, 100, 'alone', 1)",
    )
    replica.settle()
    assert single.pointers().keys() == {second, third, apart}
    assert [len(single.read(name)) for name in (second, third, apart)] == [3, 3, 5]
    meanwhile = Meanwhile(single, monkeypatch)
    meanwhile.plan = {second: "INSERT INTO lake.public.days_2 VALUES (900, 2, 'theirs', 9)"}
    replica.at_source("update days set note = 'last'", "insert into apart values (101, 101, 'alone', 1)")
    replica.settle()
    assert not meanwhile.plan
    assert {row["note"] for name in (second, third) for row in single.read(name)} == {"last"}
    replica.at_source(
        "delete from apart where id > 99; alter table days attach partition apart for values in (1)",
        "drop table days_2",
        "insert into days values (50, 1, 'back', 0)",
    )
    replica.settle()
    assert single.pointers().keys() == {third, apart}
    replica.at_source("drop table days")
    replica.settle()
    assert single.pointers() == {}
