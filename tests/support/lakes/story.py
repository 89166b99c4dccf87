"""A story for catalogs of every kind: rows and schema changes of several tables, and what readers see then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow_ddlrepl.model.names import TableName

Read = Callable[[TableName], list[dict[str, str | None]]]
ORDERS, LOG, NEW, A, B = (TableName("public", name) for name in ("orders", "log", "new", "a", "b"))
BEGIN = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
    "create table log (what text, n int)",
    "alter table log replica identity full",
    "insert into log values ('twice', 1), ('twice', 1)",
    "create table a (id int primary key)",
    "create table b (id int primary key, n int)",
    "insert into a values (1)",
)
WINDOW = (
    "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
    " alter table orders rename note to remark;"
    " insert into orders values (60, 'late', 1); update orders set id = 104 where id = 4; commit",
    "delete from log where ctid = (select min(ctid) from log)",
    "insert into log values (null, 5)",
    "begin; alter table a rename to c; alter table b rename to a; alter table c rename to b; commit",
    "insert into a values (5, 6)",
    "create table new (id int primary key)",
    "insert into new values (1), (2)",
    "drop table log",
    "create table log (id int primary key)",
    "insert into log values (9)",
)


def tell(replica: Any, read: Read, also_begin: tuple[str, ...] = (), also_window: tuple[str, ...] = ()) -> None:
    """Tell the story to a channel, and see that readers have each part of it. also_…: more of the caller's."""
    replica.at_source(*BEGIN, *also_begin)
    replica.activate()
    assert len(read(ORDERS)) == 50 and len(read(LOG)) == 2
    replica.at_source(*WINDOW, *also_window)
    replica.settle()
    found = {row["id"]: row for row in read(ORDERS)}
    assert len(found) == 50 and "3" not in found and "4" not in found
    assert found["1"] == {"id": "1", "remark": "order 1", "n": "7"}
    assert found["60"]["remark"] == "late" and found["104"]["remark"] == "order 4"
    assert read(A) == [{"id": "5", "n": "6"}]
    assert read(B) == [{"id": "1"}]
    assert [row["id"] for row in read(NEW)] == ["1", "2"]
