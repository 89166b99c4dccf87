"""Windows that a lake gathers (`apply_every`) come to a catalog that changes one table at a time, with every change."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.apply_times import LONG_AGO, last_applied, set_every
from tests.support.lakes.single import Single
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
BOTH = ("warehouse", "warehouse.changelog")
ORDERS, CHANGES = TableName("public", "orders"), TableName("public", "orders_changelog")


def test_rows_and_a_row_for_each_change_come_together(databases: Databases, tmp_path: Path, single: Single) -> None:
    targets = [{"name": "warehouse", "location": single.location, "history": "both"}]
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, single.location, targets=targets))
    replica.at_source("create table orders (id int primary key, note text)", "alter table orders replica identity full")
    replica.activate()
    set_every(replica)
    replica.at_source("insert into orders values (1, 'first')")
    replica.settle()
    before = {name: single.snapshots(name) for name in (ORDERS, CHANGES)}
    for statement in (
        "update orders set note = 'second' where id = 1",
        "alter table orders rename column note to remark",
        "insert into orders values (2, 'third')",
    ):
        replica.at_source(statement)
        assert replica.replicate().integrate.waiting.keys() == set(BOTH)
    assert {name: single.snapshots(name) for name in (ORDERS, CHANGES)} == before
    for name in BOTH:
        last_applied(replica, LONG_AGO, name)
    replica.settle()
    assert single.read(ORDERS) == [{"id": "1", "remark": "second"}, {"id": "2", "remark": "third"}]
    changes = sorted((row["_operation"], row["id"], row["remark"]) for row in single.read(CHANGES) if row["id"])
    assert changes == [("insert", "1", "first"), ("insert", "2", "third"), ("update", "1", "second")]
