"""What only the target has of a table, and other tables with nearly its name, outlive every load into a DuckDB file."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, TargetError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from tests.conformance import places
from tests.conftest import Databases

DROPS = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
ORDERS = TableName("public", "orders")


def execute(folder: Path, *statements: str) -> None:
    with session(f"duckdb://{folder}/target.duckdb") as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("rows", ["insert into orders select i, 'order' from generate_series(1, 3) i", "select 1"])
def test_a_table_whose_name_differs_in_case_alone_replaces_and_drops_none(
    databases: Databases, tmp_path: Path, rows: str
) -> None:
    """Also none that is empty."""
    place = places.duckdb(tmp_path, databases.source, adapt_ddl=DROPS)
    place.replica.at_source("create table orders (id int primary key, note text)", rows)
    place.replica.activate()
    before = place.read(ORDERS)
    place.replica.at_source('create table "Orders" (id int primary key, note text); insert into "Orders" values (9)')
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"ADP-104|ADP-120|ADP-130"):
            place.replica.replicate()
    assert place.read(ORDERS) == before and place.states()["public.orders"] is TableStatus.LIVE
    place.replica.at_source('drop table "Orders"')
    place.replica.replicate()
    assert place.read(ORDERS) == before


def test_columns_that_people_added_keep_their_values_by_key(databases: Databases, tmp_path: Path) -> None:
    place = places.duckdb(tmp_path, databases.source)
    place.start()
    add = "alter table public.{0} add column mine varchar"
    execute(tmp_path, add.format("orders"), "update public.orders set mine = 'of ' || id")
    place.replica.at_source("delete from orders where id = 2", "insert into orders values (40, 'new')")
    place.replica.replicate()
    place.replica.refresh("public.orders")
    found = {row["id"]: row["mine"] for row in place.read(ORDERS) or []}
    assert found["1"] == "of 1" and found["40"] is None and "2" not in found and len(found) == 30
    execute(tmp_path, add.format("log"), "update public.log set mine = 'x'")
    with pytest.raises(CannotAdapt, match="ADP-132"):
        place.replica.refresh("public.log")
    assert {row["mine"] for row in place.read(TableName("public", "log")) or []} == {"x"}

    place.replica.at_source("alter table orders add mine int default 7")
    with pytest.raises(CannotAdapt, match="ADP-105"):
        place.replica.refresh("public.orders")


def test_a_chunk_that_the_driver_does_not_see_is_an_error(
    databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster whose workers have a folder of their own."""
    place = places.duckdb(tmp_path, databases.source)
    place.start()
    before = place.read(ORDERS)
    monkeypatch.setattr("airflow_ddlrepl.engines.duckdb.load.shadow.Shadow.chunks", ())
    with pytest.raises(TargetError, match=r"TGT-120.*30 rows were loaded, and 0 are there"):
        place.replica.refresh("public.orders")
    assert place.read(ORDERS) == before
