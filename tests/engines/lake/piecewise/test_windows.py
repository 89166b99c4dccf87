"""In a Hadoop, Hive or Glue catalog the tables of a window become visible one after the other, each exactly once."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.lake.connection import session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.interrupted import SHOP, WORK, Meanwhile, killed, suspended
from tests.support.lakes.single import Single
from tests.support.lakes.story import tell
from tests.support.replica import Replica

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, LOG, SUMS, NEW = (TableName("public", name) for name in ("orders", "log", "sums", "new"))


def test_a_channel_runs_with_rows_and_schema_changes(
    single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(
        replica,
        single.read,
        (
            "create table moved (id int primary key, at timestamptz, price numeric(10, 2))",
            "insert into moved values (1, '2026-01-01', 1.5)",
        ),
        ("alter table moved rename to moved_away", "update moved_away set price = 2"),
    )
    assert [row["price"] for row in single.read(TableName("public", "moved_away"))] == ["2.00"]
    assert TableName("public", "moved") not in single.pointers()
    replica.at_source("alter table orders drop column n", "truncate a", "drop table new")
    replica.settle()
    assert single.read(TableName("public", "a")) == [] and "n" not in single.read(ORDERS)[0]
    single.somebody().sql("INSERT INTO lake.public.orders VALUES (900, 'theirs')")
    assert replica.compare().differences == 1
    replica.refresh("public.orders")
    monkeypatch.setattr(session, "_started", None)
    monkeypatch.setattr(session, "_beside", None)  # no Java is needed where nothing is new
    replica.settle()


@pytest.mark.req("XR-09")
def test_a_killed_run_is_rolled_forward(single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before the first table is changed, after each one, and before the position is stored."""
    replica.at_source(*SHOP)
    replica.activate()
    points = [("lake.intent", 0), *(("lake.swapped", number) for number in range(3)), ("lake.published", 0)]
    for number, (point, after) in enumerate(points):
        before = {name: single.snapshots(name) for name in (ORDERS, SUMS, LOG)}
        replica.at_source(WORK)
        killed(replica.replicate, monkeypatch, point, after)
        done = [single.snapshots(name) - count for name, count in before.items()]
        assert sorted(done) == sorted([1] * min(number, 3) + [0] * (3 - min(number, 3))), (point, after)
        replica.settle()
        done = [single.snapshots(name) - count for name, count in before.items()]
        assert done == [1, 1, 1], f"the window was written twice after {point}"
    changes = (
        "alter table orders rename to sales; create table new (id int primary key); insert into new values (1)",
        "begin; alter table sales rename to x; alter table sums rename to sales; alter table x rename to sums; commit;"
        " drop table new; insert into log values ('more')",
        "alter table sums rename to orders; alter table sales rename to sums; alter table log add n int default 5",
    )
    for number, work in enumerate(changes):
        replica.at_source(work)
        killed(replica.replicate, monkeypatch, "lake.renaming", number % 2)
        replica.settle()
    assert {name.name for name in single.pointers()} == {"orders", "sums", "log"}


def test_a_table_that_somebody_else_has_changed_stays_and_is_brought_up(
    single: Single, replica: Replica, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By the next run; by a later stage, if the window has schema changes; at once, if it has no other table."""
    replica.at_source(*SHOP)
    replica.activate()
    meanwhile, totals = Meanwhile(single, monkeypatch), TableName("public", "totals")
    for name, text in (
        (ORDERS, "INSERT INTO lake.public.orders VALUES (900, 9)"),
        (LOG, "INSERT INTO lake.public.log VALUES ('theirs')"),
    ):
        before = single.pointers()
        replica.at_source(WORK)
        meanwhile.plan = {name: text}
        with pytest.raises(DdlReplError) as raised:
            replica.replicate()
        assert raised.value.code == "INT-123" and "TGT-117" in str(raised.value), raised.value
        assert str(name) in str(raised.value) and suspended(replica) == [str(name)]
        assert all(single.pointers()[one] != before[one] for one in (ORDERS, SUMS, LOG))
        replica.replicate()
        assert suspended(replica) == []
    assert sum(row["what"] == "theirs" for row in single.read(LOG)) == 1
    single.somebody().sql("DELETE FROM lake.public.log WHERE what = 'theirs'")
    for statements, name, text, said in (
        (
            ["alter table orders rename amount to price", "alter table sums rename to totals",
             WORK.replace("amount", "price").replace("sums", "totals")],
            ORDERS, "DELETE FROM lake.public.orders WHERE id = 900", "changed",
        ),
        (["alter table totals rename to sums"], totals, "INSERT INTO lake.public.totals VALUES (900, 9)", "written to"),
        (["drop table sums"], SUMS, "DELETE FROM lake.public.sums", "written to"),
    ):  # fmt: skip
        caplog.clear()
        replica.at_source(*statements)
        meanwhile.plan = {name: text}
        replica.replicate()
        assert f"somebody else has {said} {name}" in caplog.text and suspended(replica) == []
    replica.settle()
    assert single.pointers().keys() == {ORDERS, LOG}
