"""A store that fails in the middle of a run, and what else a lake in a store does as one in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.comparing import repair as module
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.channel import by_hand
from tests.support.lakes.reader import pointers
from tests.support.lakes.store import SECRET, Store, object_store
from tests.support.replayable import captured, past_at
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("lake_spark"), pytest.mark.timeout(900)]
ORDERS, ITEMS = TableName("public", "orders"), TableName("public", "items")
START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 20) i",
    "create table items (id int primary key, n int)",
)


@pytest.fixture
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


def lake(folder: Path, store: Store, name: str = "now") -> str:
    return f"iceberg://{folder}/{name}.db?{store.settings().replace('/wh&', f'/{name}&')}"


def read(location: str, name: TableName) -> list[dict[str, Any]]:
    """The rows of a table as PyIceberg reads them."""
    properties = dict(location_of(location).files.properties)
    found = StaticTable.from_metadata(pointers(location)[name], properties).scan().to_arrow()
    return sorted(found.to_pylist(), key=repr)


def test_nothing_is_seen_of_a_run_whose_store_takes_no_more_files(
    databases: Databases, tmp_path: Path, store: Store
) -> None:
    location = lake(tmp_path, store)
    replica = Replica(databases.source, location, channel_file(tmp_path, databases.source, location))
    replica.at_source(*START)
    replica.activate()
    replica.at_source(
        "begin; delete from orders where id = 3; insert into items values (1, 1); alter table items add more int"
        " default 5; update orders set id = 104 where id = 4; insert into items values (2, 2, 2); commit"
    )
    runs: tuple[Callable[[], Any], ...] = (replica.replicate, lambda: replica.refresh("public.orders"))
    for run in runs:
        before = pointers(location)
        for taken in count(step=4):
            assert taken < 100
            with store.refusing(taken) as refused:
                try:
                    run()
                except DdlReplError as error:
                    assert refused and (error.code, error.retryable) == ("CON-123", True), error
                    assert "QuotaExceeded" in error.message or "quota" in error.message, error
                    assert SECRET not in str(error) and pointers(location) == before
                else:
                    assert not refused
                    break
        assert taken > 7 and pointers(location) != before
        replica.settle()
    assert 104 in {row["id"] for row in read(location, ORDERS)}


def test_rows_are_repaired_by_key_and_a_lake_goes_back(
    databases: Databases, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, past = lake(tmp_path, store), lake(tmp_path, store, "past")
    file = channel_file(tmp_path, databases.source, location, **past_at(past))
    replica = Replica(databases.source, location, file)
    replica.at_source(*START, "insert into items values (1, 1), (2, 2)")
    replica.activate()
    replica.at_source("alter table orders add n int default 7", "update orders set n = id where id > 15")
    before, noted = captured(replica), read(location, ORDERS)
    replica.at_source("alter table orders rename n to m", "delete from items where id = 1")
    captured(replica)
    by_hand(location, ORDERS, "DELETE FROM {} WHERE id < 3", "INSERT INTO {0} SELECT 99, note, m FROM {0} WHERE id = 5")
    by_hand(location, ITEMS, "UPDATE {} SET n = 3")
    with monkeypatch.context() as patched, flow.open_channel(file, InProcess()) as run:
        patched.setattr(module, "refresh", None)
        assert flow.repair(run).differences == 0
    replica.check_equal()
    replica.rewind(before)
    assert read(past, ORDERS) == noted and len(read(past, ITEMS)) == 2
    by_hand(location, ITEMS, "DELETE FROM {}")
    replica.rewind(before, "")
    replica.at_source("insert into items values (3, 3)", "alter table orders drop m")
    replica.settle()
