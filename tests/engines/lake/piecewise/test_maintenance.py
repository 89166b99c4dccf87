"""Maintenance of a catalog that changes one table at a time: no row changes, and nothing goes that somebody needs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.support.lakes.interrupted import Meanwhile, killed
from tests.support.lakes.single import Single
from tests.support.replica import Replica

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, SALES, FIRST = (TableName("public", name) for name in ("orders", "sales", "days_1"))
FOUR_DAYS = 4 * 24 * 3600
START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'first' from generate_series(1, 100) i",
    "create table days (id int primary key, n int) partition by range (id)",
    "create table days_1 partition of days for values from (0) to (1000)",
    "insert into days select i, 0 from generate_series(1, 100) i",
)


def maintained(replica: Replica) -> Any:
    """What the maintenance of a channel did; snapshots and small files are old and many at once."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.by_arguments.maintain(cycle, retain="0s", small_files="2")


def files(single: Single) -> set[Path]:
    return {path for path in single.warehouse.rglob("*") if path.is_file()}


def versions(single: Single) -> list[Path]:
    """The metadata files of the orders."""
    return sorted(path for path in files(single) if "orders" in str(path) and path.name.endswith(".metadata.json"))


def age(single: Single) -> None:
    """Let all files be days old."""
    for path in files(single):
        os.utime(path, times=(time.time() - FOUR_DAYS,) * 2)


def work(replica: Replica, number: int, orders: str = "orders") -> None:
    """One window with rows for files of their own, and deleted rows."""
    replica.at_source(
        f"insert into {orders} select i, 'later' from generate_series({number}00, {number}09) i",
        f"delete from {orders} where id % 10 = {number % 10}",
        f"update days set n = n + 1 where id % 10 = {number % 10}",
    )
    replica.replicate()


def test_tables_get_few_files_and_what_is_needed_stays(
    single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica.at_source(*START)
    replica.activate()
    for number in (2, 3, 4):
        work(replica, number)
    tagged = [one.snapshot_id for one in single.table(ORDERS).snapshots()][1]
    single.somebody().sql(f"ALTER TABLE lake.public.orders CREATE TAG month_end AS OF VERSION {tagged}")
    then = single.table(ORDERS).scan(snapshot_id=tagged).to_arrow()
    replica.at_source(
        "alter table orders rename to sales",
        "create table orders (id int primary key)",
        "insert into orders values (1)",
    )
    work(replica, 5, "sales")

    def rows() -> list[Any]:
        assert single.table(SALES).scan(snapshot_id=tagged).to_arrow() == then
        return [single.read(name) for name in (ORDERS, SALES, FIRST)]

    before = rows()
    done = maintained(replica).tables
    for name in (SALES, FIRST):
        assert done[f"warehouse {name}"]["rewritten"] > done[f"warehouse {name}"]["written"] == 1, done
        assert done[f"warehouse {name}"]["expired"] > 1 and done[f"warehouse {name}"]["removed"] == 0, done
    assert rows() == before and single.snapshots(FIRST) == 1
    age(single)
    window, known = Window(single.location, "somebody"), files(single)
    window.spark.sql(f"INSERT INTO {window.table(SALES)} VALUES (0, 'not visible yet')")
    young = files(single) - known
    removed = sum(one["removed"] for one in maintained(replica).tables.values())
    assert removed > 0 and len(files(single)) < len(known) and young <= files(single)
    assert rows() == before
    window.begin()
    work(replica, 6, "sales")
    replica.settle()
    age(single)
    for number, point in enumerate(("lake.intent", "lake.swapped", "lake.published"), 7):
        work(replica, number, "sales")
        killed(lambda: maintained(replica), monkeypatch, point)
        replica.settle()
    maintained(replica)
    replica.settle()


def test_what_somebody_writes_during_maintenance_is_not_lost(
    single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica.at_source(*START)
    replica.activate()
    for number in (2, 3):
        work(replica, number)
    meanwhile = Meanwhile(single, monkeypatch)
    meanwhile.plan = {ORDERS: "INSERT INTO lake.public.orders VALUES (1000, 'theirs')"}
    done = maintained(replica)
    assert "TGT-112" in done.left["warehouse public.orders"] and "warehouse public.days_1" in done.tables
    assert any(row["note"] == "theirs" for row in single.read(ORDERS))
    single.somebody().sql("DELETE FROM lake.public.orders WHERE id = 1000")
    replica.settle()


def test_old_versions_go(single: Single, replica: Replica) -> None:
    """Those that no metadata names any more; a reader finds the newest one, and numbers go on."""
    replica.at_source(*START)
    replica.activate()
    single.somebody().sql(
        "ALTER TABLE lake.public.orders SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')"
    )
    for number in (2, 3):
        work(replica, number)
    age(single)
    before = versions(single)
    maintained(replica)
    assert 0 < len(versions(single)) < len(before) / 2, versions(single)
    work(replica, 4)
    replica.settle()
