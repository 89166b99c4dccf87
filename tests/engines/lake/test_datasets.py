"""What OpenLineage calls tables: those of servers, of files and of lakes; a password is in no name."""

from __future__ import annotations

import json
from pathlib import Path

from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.engines.lake.catalog.entries import add_entry
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.model.names import TableName

ORDERS = TableName("shop", "orders")


def names(location: str) -> list[tuple[str, str]]:
    return [*engine(location).datasets(location, ORDERS)]


def test_tables_of_servers_and_of_files() -> None:
    assert names("postgresql://app:s3cret@db:5433/shop") == [("postgres://db:5433", "shop.shop.orders")]
    assert names("postgresql://app@/shop") == [("postgres://localhost:5432", "shop.shop.orders")]
    assert names("duckdb:///data/shop.duckdb") == [("duckdb:///data/shop.duckdb", "shop.orders")]


def test_a_table_of_a_lake_is_its_folder_and_has_a_name_in_the_warehouse(location: str, tmp_path: Path) -> None:
    in_warehouse = (f"file://{tmp_path}/warehouse", "shop.orders")
    assert names(location) == [in_warehouse]
    metadata = tmp_path / "00001-x.metadata.json"
    for folder, expected in (
        (f"file:{tmp_path}/warehouse/shop/orders-1", ("file", f"{tmp_path}/warehouse/shop/orders-1")),
        (f"{tmp_path}/orders-1", ("file", f"{tmp_path}/orders-1")),
        ("s3://lake/shop/orders-1", ("s3://lake", "shop/orders-1")),
    ):
        metadata.with_name(f"{len(folder)}.json").write_text(json.dumps({"location": folder}))
        with writing(location) as connection:
            connection.exec_driver_sql("DELETE FROM iceberg_tables")
            add_entry(connection, "lake", ORDERS, str(metadata.with_name(f"{len(folder)}.json")))
        assert names(location) == [expected, in_warehouse]
