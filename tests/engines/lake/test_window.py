"""What a run changes in a lake is seen by nobody until it is flipped, and then all of it."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.lake.catalog import entries, metadata
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import reading, writing
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.errors import CannotAdapt, TargetError
from airflow_ddlrepl.model.names import TableName

pytestmark = pytest.mark.xdist_group("spark")

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def look(location: str, name: TableName) -> list[str] | None:
    """The columns that a reader of the lake sees of a table."""
    with reading(location) as connection:
        found = entries.pointer(connection, "lake", name)
    return list(metadata.columns_there(found, DiskFiles())) if found else None


def flip(window: Window) -> None:
    window.commit()
    with writing(window.location) as connection:
        window.flip(connection)


def made(location: str) -> None:
    """A lake with two tables; each has one row."""
    window = Window(location, "ddlrepl_w_before")
    for name in ("orders", "items"):
        run(window, f"CREATE TABLE `shop`.`{name}` (`id` INT, `{name}_note` STRING)")
        window.spark.sql(f"INSERT INTO {window.table(TableName('shop', name))} VALUES (1, '{name}')")
    flip(window)


def test_changes_of_several_tables_are_seen_at_one_moment(location: str, window: Window) -> None:
    made(location)
    for statement in (
        "ALTER TABLE `shop`.`orders` ADD COLUMN `n` INT DEFAULT CAST('7' AS INT)",
        "ALTER TABLE `shop`.`orders` RENAME TO `shop`.`x`",
        "ALTER TABLE `shop`.`items` RENAME TO `shop`.`orders`",
        "ALTER TABLE `shop`.`x` RENAME TO `other`.`items`",
        "CREATE TABLE `shop`.`new` (`id` INT)",
    ):
        run(window, statement)
    assert look(location, ORDERS) == ["id", "orders_note"] and look(location, TableName("shop", "new")) is None
    flip(window)
    assert look(location, ORDERS) == ["id", "items_note"]
    assert look(location, TableName("other", "items")) == ["id", "orders_note", "n"]
    assert look(location, TableName("shop", "new")) == ["id"] and look(location, ITEMS) is None


def test_changes_of_a_table_are_one_commit_where_nothing_lies_between_them(location: str, window: Window) -> None:
    made(location)
    before = window.metadata(ORDERS)
    for statement in (
        "ALTER TABLE `shop`.`orders` ADD COLUMN `n` INT DEFAULT 7",
        "ALTER TABLE `shop`.`orders` RENAME COLUMN `orders_note` TO `old`",
        "ALTER TABLE `shop`.`orders` RENAME COLUMN `n` TO `orders_note`",
        "ALTER TABLE `shop`.`items` DROP COLUMN `items_note`",
        "ALTER TABLE `shop`.`orders` ALTER COLUMN `orders_note` TYPE BIGINT",
    ):
        run(window, statement)
    after = window.metadata(ORDERS)
    assert [one.rsplit("/", 1)[1].split("-")[0] for one in (before, after)] == ["00002", "00003"]
    run(window, "UPDATE `shop`.`orders` SET `old` = 'x'")
    run(window, "ALTER TABLE `shop`.`orders` DROP COLUMN `id`")
    run(window, "DELETE FROM `shop`.`orders`")
    assert window.metadata(ORDERS).rsplit("/", 1)[1].startswith("00007-")
    flip(window)
    assert look(location, ORDERS) == ["old", "orders_note"] and look(location, ITEMS) == ["id"]
    with pytest.raises(Exception, match="already exists"):
        run(Window(location, "ddlrepl_w_other"), "ALTER TABLE `shop`.`orders` ADD COLUMN `old` INT")


def test_what_somebody_else_has_written_meanwhile_is_not_lost(location: str, window: Window) -> None:
    made(location)
    run(window, "ALTER TABLE `shop`.`orders` ADD COLUMN `n` INT")
    run(window, "ALTER TABLE `shop`.`items` ADD COLUMN `n` INT")
    outsider = Window(location, "ddlrepl_w_outsider")
    run(outsider, "ALTER TABLE `shop`.`items` ADD COLUMN `theirs` INT")
    flip(outsider)
    with pytest.raises(TargetError) as raised:
        flip(window)
    assert raised.value.code == "TGT-112" and raised.value.retryable
    assert look(location, ORDERS) == ["id", "orders_note"] and look(location, ITEMS) == ["id", "items_note", "theirs"]


def test_a_name_that_another_table_has_is_refused(location: str, window: Window) -> None:
    made(location)
    run(window, "ALTER TABLE `shop`.`orders` RENAME TO `shop`.`items`")
    with pytest.raises(CannotAdapt) as raised:
        flip(window)
    assert raised.value.code == "ADP-104"
    assert look(location, ORDERS) == ["id", "orders_note"] and look(location, ITEMS) == ["id", "items_note"]


def test_a_table_that_is_not_there_is_named(location: str, window: Window) -> None:
    with pytest.raises(TargetError) as raised:
        run(window, "DELETE FROM `shop`.`orders`")
    assert (raised.value.code, raised.value.table) == ("TGT-113", "shop.orders")
    run(window, "DROP TABLE IF EXISTS `shop`.`orders`")


def test_a_dropped_table_is_gone_and_another_one_takes_its_name(location: str, window: Window) -> None:
    made(location)
    run(window, "DROP TABLE IF EXISTS `shop`.`orders`")
    run(window, "ALTER TABLE `shop`.`items` RENAME TO `shop`.`orders`")
    flip(window)
    assert look(location, ORDERS) == ["id", "items_note"] and look(location, ITEMS) is None


@pytest.mark.parametrize(
    ("held", "default", "shown"),
    [
        ("STRING", "'it\\'s'", "it's"),
        ("INT", "CAST('7' AS INT)", "7"),
        ("BIGINT", "CAST('7' AS BIGINT)", "7"),
        ("DECIMAL(12,3)", "CAST('1.5' AS DECIMAL(12,3))", "1.500"),
        ("BOOLEAN", "CAST('f' AS BOOLEAN)", "false"),
        ("DOUBLE", "CAST('0.1' AS DOUBLE)", "0.1"),
        ("DATE", "CAST('2024-02-29' AS DATE)", "2024-02-29"),
        ("TIMESTAMP", "CAST('2024-02-29 12:00:00+02' AS TIMESTAMP)", "2024-02-29 10:00:00"),
        ("TIMESTAMP_NTZ", "CAST('1969-12-31 23:59:59.123456' AS TIMESTAMP_NTZ)", "1969-12-31 23:59:59.123456"),
        ("BINARY", "unhex('41')", "A"),
    ],
)
def test_rows_from_before_a_column_show_its_default(
    location: str, window: Window, held: str, default: str, shown: str
) -> None:
    made(location)
    run(window, f"ALTER TABLE `shop`.`orders` ADD COLUMN `c` {held} DEFAULT {default}")
    run(window, "ALTER TABLE `shop`.`orders` RENAME COLUMN `c` TO `d`")
    run(window, "ALTER TABLE `shop`.`orders` DROP COLUMN `orders_note`")
    found = window.spark.sql(f"SELECT id, CAST(d AS STRING) FROM {window.table(ORDERS)}").collect()
    assert [tuple(row) for row in found] == [(1, shown)]


def test_a_column_dropped_and_added_again_has_none_of_its_old_values(location: str, window: Window) -> None:
    made(location)
    for statement in (
        "ALTER TABLE `shop`.`orders` DROP COLUMN `orders_note`",
        "ALTER TABLE `shop`.`orders` ADD COLUMN `orders_note` STRING",
        "ALTER TABLE `shop`.`orders` ALTER COLUMN `id` TYPE BIGINT",
    ):
        run(window, statement)
    found = window.spark.sql(f"SELECT * FROM {window.table(ORDERS)}").collect()
    assert [tuple(row) for row in found] == [(1, None)]
    run(window, "UPDATE `shop`.`orders` SET `orders_note` = 'filled'")
    assert window.spark.sql(f"SELECT orders_note FROM {window.table(ORDERS)}").collect()[0][0] == "filled"
    run(window, "DELETE FROM `shop`.`orders`")
    assert window.spark.sql(f"SELECT * FROM {window.table(ORDERS)}").collect() == []
