"""The files of a lake whose catalog a REST server has may be in an object store, which the server reads, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.rest import Rest, rest_server
from tests.support.lakes.store import Store, object_store
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS, NEW = TableName("public", "orders"), TableName("public", "new")


def read(rest: Rest, location: str, name: TableName) -> list[dict[str, Any]]:
    """The rows of a table as PyIceberg reads them at the place that the server says."""
    properties = dict(location_of(location).files.properties)
    return sorted(StaticTable.from_metadata(rest.pointers()[name], properties).scan().to_arrow().to_pylist(), key=repr)


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_a_store_behind_a_rest_server(databases: Databases, tmp_path: Path) -> None:
    with object_store() as store, rest_server(tmp_path / "rest", store) as rest:
        location = f"iceberg://{tmp_path}/state.db?{store.settings()}&{rest.settings()}"
        replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, location))
        replica.at_source(
            "create table orders (id int primary key, note text)",
            "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
        )
        replica.activate()
        assert len(read(rest, location, ORDERS)) == 50
        before = objects(store)
        replica.at_source(
            "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
            " insert into orders values (60, 'late', 1); update orders set id = 104 where id = 4; commit",
            "create table new (id int primary key)",
            "insert into new values (1)",
        )
        replica.settle()
        found = {row["id"]: row for row in read(rest, location, ORDERS)}
        assert len(found) == 50 and 3 not in found and 4 not in found
        assert found[1]["n"] == 7 and found[60]["note"] == "late" and found[104]["note"] == "order 4"
        assert read(rest, location, NEW) == [{"id": 1}]
        assert objects(store) > before


def objects(store: Store) -> int:
    """How many files of rows the store has."""
    return sum(name.endswith(".parquet") for name in store.names())
