"""The files of a lake may be in an object store: a channel runs into it as into a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.lake.connection.errors import explained
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.targets.maintenance import maintain, thresholds_for
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.reader import pointers
from tests.support.lakes.store import SECRET, Store, object_store
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server]
ORDERS, LOG = TableName("public", "orders"), TableName("public", "log")


@pytest.fixture
def store() -> Iterator[Store]:
    with object_store() as found:
        yield found


def read(location: str, name: TableName) -> list[dict[str, Any]]:
    """The rows of a table as PyIceberg reads them."""
    properties = dict(location_of(location).files.properties)
    found = StaticTable.from_metadata(pointers(location)[name], properties).scan().to_arrow()
    return sorted(found.to_pylist(), key=repr)


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_an_object_store(databases: Databases, tmp_path: Path, store: Store) -> None:
    location = f"iceberg://{tmp_path}/catalog.db?{store.settings()}"
    replica = Replica(databases.source, "", channel_file(tmp_path, databases.source, location))
    replica.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'order ' || i from generate_series(1, 50) i",
        "create table log (what text, n int)",
        "alter table log replica identity full",
        "insert into log values ('twice', 1), ('twice', 1)",
        "create table parts (id int primary key) partition by range (id)",
        "create table parts_1 partition of parts for values from (0) to (10)",
        "insert into parts values (1), (2)",
    )
    replica.activate()
    assert len(read(location, ORDERS)) == 50 and len(read(location, LOG)) == 2
    replica.at_source(
        "begin; delete from orders where id = 3; alter table orders add column n int default 7;"
        " insert into orders values (60, 'late', 1); update orders set id = 104 where id = 4; commit",
        "delete from log where ctid = (select min(ctid) from log)",
        "insert into log values (null, 5)",
    )
    replica.settle()
    found = {row["id"]: row for row in read(location, ORDERS)}
    assert len(found) == 50 and 3 not in found and 4 not in found
    assert found[1]["n"] == 7 and found[60]["note"] == "late" and found[104]["note"] == "order 4"
    assert [tuple(row.values()) for row in read(location, LOG)] == [("twice", 1), (None, 5)]

    with flow.open_channel(replica.file, InProcess()) as run:
        done = maintain(run, thresholds_for(run.channel, "0s", "2", "1"))
    assert done.tables["warehouse public.orders"]["rewritten"] > done.tables["warehouse public.orders"]["written"]
    replica.check_equal()
    assert len(read(location, ORDERS)) == 50

    for number in (90, 91):  # somebody has put rows there; a load with -md leaves them
        window = Window(location, f"w_test_a{number}")
        window.spark.sql(f"INSERT INTO {window.table(ORDERS)} VALUES ({number}, 'theirs', 0)")
        with writing(location) as connection:
            window.flip(connection)
    replica.refresh("public.orders", options="-gr -md")
    assert [row["id"] for row in read(location, ORDERS) if row["note"] == "theirs"] == [90, 91]
    assert len(read(location, ORDERS)) == 52
    replica.refresh("public.orders")
    assert len(read(location, ORDERS)) == 50

    replica.at_source("insert into orders values (70, 'meanwhile', 1)")
    before = pointers(location)
    with store.stopped(), pytest.raises(DdlReplError) as raised:
        replica.replicate()
    assert (raised.value.code, raised.value.retryable) == ("CON-123", True)
    assert SECRET not in str(raised.value) and pointers(location) == before
    replica.settle()
    assert 70 in {row["id"] for row in read(location, ORDERS)}

    window = Window(location, "w_test_a1")
    table = window.table(ORDERS)
    with store.stopped(), pytest.raises(Exception) as caught:
        window.spark.sql(f"INSERT INTO {table} VALUES (80, 'lost', 1)")
    told = explained(caught.value)
    assert told is not None and (told.code, told.retryable) == ("CON-123", True)

    conf = lake_session(location)._jsparkSession.sessionState().conf()
    assert SECRET in str(conf.getAllConfs()) and SECRET not in str(conf.redactOptions(conf.getAllConfs()))


def test_a_store_that_takes_no_files_is_told_beforehand(tmp_path: Path, store: Store) -> None:
    location = f"iceberg://{tmp_path}/catalog.db?{store.settings()}"
    assert "s3://lake-bucket/wh written" in ENGINE.target_rights(location)[0] and not store.names()
    with pytest.raises(DdlReplError, match="bucket does not exist") as raised:
        ENGINE.target_rights(location.replace("lake-bucket", "no-bucket"))
    assert raised.value.code == "CON-101"
    with store.stopped(), pytest.raises(DdlReplError) as raised:
        ENGINE.target_rights(location)
    assert raised.value.code == "CON-123"


def test_a_folder_that_takes_no_files_is_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DdlReplError, match="takes no files") as raised:
        ENGINE.target_rights(f"iceberg://{tmp_path}/catalog.db?warehouse={tmp_path}/file")
    assert raised.value.code == "CON-101"
