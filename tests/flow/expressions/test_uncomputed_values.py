"""A virtual generated column can't be computed for a row: the row is replicated, and the other columns compared."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Make

TABLE = "create table v (id int primary key, a int, b int generated always as (10 / a) virtual, c text)"


def shown(replica: Any) -> tuple[str, int, int]:
    """What the comparison says of the table's shape, and how many rows are missing or differ."""
    (found,) = (one for one in replica.compare().tables if one.table.name == "v")
    return "; ".join(found.structure), found.missing + found.extra, found.different


def test_the_other_columns_are_compared(make: Make) -> None:
    replica = make(TABLE, "insert into v (id, a) values (1, 0), (2, 2)")
    replica.replicate()
    replica.at_source("insert into v (id, a) values (3, 0)", "update v set c = 'x' where id = 1")
    replica.replicate()
    text, *rows = shown(replica)
    assert "not compared: b" in text and "division by zero" in text and rows == [0, 0]
    assert replica.rows("select id, a, c from v order by id") == [(1, 0, "x"), (2, 2, None), (3, 0, None)]
    replica.at_target("update v set c = 'wrong' where id = 2", "delete from v where id = 3")
    assert shown(replica)[1:] == (1, 1)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.repair(cycle, ())
    assert replica.rows("select id, a, c from v order by id") == [(1, 0, "x"), (2, 2, None), (3, 0, None)]
    replica.at_source("update v set a = 1 where a = 0")
    replica.settle()
    assert replica.rows("select b from v order by id") == [(10,), (5,), (10,)]


def test_a_target_that_computes_something_else_is_found(make: Make) -> None:
    """The comparison looks at the column again as soon as it can."""
    replica = make(TABLE, "insert into v (id, a) values (1, 1)")
    replica.settle()
    replica.at_target("alter table v alter column b set expression as (20 / a)")
    assert shown(replica)[2] == 1
