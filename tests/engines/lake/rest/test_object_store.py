"""The catalog of a lake may be a REST server's while the files of its tables are in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.catalog import publishing
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.flow.targets.maintenance import maintain, thresholds_for
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.rest import Rest, rest_server
from tests.support.lakes.store import Store, object_store
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, LOG, NEW = (TableName("public", name) for name in ("orders", "log", "new"))


class Killed(BaseException):
    """What ends a run where it stands: nothing of it is done any more."""


@pytest.fixture
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


@pytest.fixture
def rest(tmp_path: Path, store: Store) -> Iterator[Rest]:
    """A server that reads and writes in the store."""
    with rest_server(tmp_path / "server", store) as found:
        yield found


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_an_object_store_by_a_rest_catalog(
    databases: Databases, tmp_path: Path, rest: Rest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = f"iceberg://{tmp_path}/state.db?{store.settings()}&{rest.settings()}"
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, location))

    def read(name: TableName) -> list[dict[str, Any]]:
        files = dict(location_of(location).files.properties)
        found = StaticTable.from_metadata(rest.pointers()[name], files).scan().to_arrow()
        return sorted(found.to_pylist(), key=repr)

    def killed(point: str) -> None:
        if point == "lake.published":
            raise Killed

    replica.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
        "create table log (what text, n int)",
        "alter table log replica identity full",
        "insert into log values ('twice', 1), ('twice', 1)",
    )
    replica.activate()
    assert len(read(ORDERS)) == 50 and len(read(LOG)) == 2
    replica.at_source(
        "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
        " alter table orders rename note to remark;"
        " insert into orders values (60, 'late', 1); update orders set id = 104 where id = 4; commit",
        "delete from log where ctid = (select min(ctid) from log)",
        "create table new (id int primary key)",
        "insert into new values (1)",
    )
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(publishing, "reach", killed)
        replica.replicate()
    replica.settle()
    found = {row["id"]: row for row in read(ORDERS)}
    assert len(found) == 50 and 3 not in found and 4 not in found
    assert found[1] == {"id": 1, "remark": "order 1", "n": 7} and found[104]["remark"] == "order 4"
    assert len(read(LOG)) == 1 and read(NEW) == [{"id": 1}]
    replica.check_equal()
    for number in range(3):
        replica.at_source(f"update orders set n = {number} where id % 3 = {number}")
        replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        done = maintain(run, thresholds_for(run.channel, "0s", "2", "1"))
    assert done.tables["warehouse public.orders"]["rewritten"] > done.tables["warehouse public.orders"]["written"]
    replica.check_equal()
    assert len(read(ORDERS)) == 50
