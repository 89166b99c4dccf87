"""What a killed run has written to a warehouse goes with the next run of its channel, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog import metadata
from airflow_ddlrepl.engines.lake.catalog.entries import pointer
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import reading, writing
from airflow_ddlrepl.engines.lake.connection.files import DiskFiles
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.target_port import LakeTarget
from airflow_ddlrepl.errors import WrittenMeanwhile
from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.reader import rows_at

FILES = DiskFiles()
pytestmark = pytest.mark.xdist_group("spark")
ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def files(location: str) -> set[Path]:
    """All files in the warehouse but checksums."""
    folder = LakeTarget(location, "shop").window("x").location.partition("warehouse=")[2]
    return {path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".crc"}


def there(location: str, name: TableName) -> str:
    with reading(location) as connection:
        found = pointer(connection, "lake", name)
    assert found is not None
    return found


def write(window: Window, third: str = "third") -> None:
    """Change both tables, each with its columns and rows, and make a third one."""
    for name in (ORDERS, ITEMS):
        window.spark.sql(f"INSERT INTO {window.table(name)} (id, note) VALUES (2, 'late')")
        run(window, f"ALTER TABLE `shop`.`{name.name}` ADD COLUMN `{third}` INT")
        window.spark.sql(f"UPDATE {window.table(name)} SET {third} = 5 WHERE id = 1")
    run(window, f"CREATE TABLE `shop`.`{third}` (`id` INT)")
    window.spark.sql(f"INSERT INTO {window.table(TableName('shop', third))} VALUES (3)")


def flip(window: Window) -> None:
    with writing(window.location) as connection:
        window.flip(connection)


def made(location: str, properties: str = "") -> None:
    """Two tables with one row each."""
    window = LakeTarget(location, "shop").window("a1")
    for name in (ORDERS, ITEMS):
        run(window, f"CREATE TABLE `shop`.`{name.name}` (`id` INT, `note` STRING)")
        window.spark.sql(f"INSERT INTO {window.table(name)} VALUES (1, 'first')")
        if properties:
            window.spark.sql(f"ALTER TABLE {window.table(name)} SET TBLPROPERTIES ({properties})")
    flip(window)


def test_files_of_a_run_that_was_killed_go_and_all_others_stay(location: str, lake_spark: None) -> None:
    made(location)
    target, other = LakeTarget(location, "shop"), LakeTarget(location, "elsewhere")
    flipped = target.window("a3")
    write(flipped)
    flip(flipped)
    stranger = folder(location) / "data" / "somebodys.parquet"
    stranger.write_text("of somebody else")
    before = files(location)
    killed, open_elsewhere, open_here = target.window("a4"), other.window("a1"), target.window("a5")
    write(killed, "fourth")
    killed_files = files(location) - before
    assert len(killed_files) > 12, "data, deletes, manifests, metadata of two tables, and a table"
    write(open_elsewhere, "fifth")
    write(open_here, "sixth")
    alive = files(location) - killed_files
    target.sweep(5)
    assert files(location) == alive and stranger in alive
    with pytest.raises(WrittenMeanwhile):
        flip(killed)
    for window in (open_elsewhere, open_here):
        assert len(window.spark.sql(f"SELECT * FROM {window.table(ORDERS)}").collect()) == 3
    flip(open_here)
    target.sweep(6)
    assert sorted(rows_at(there(location, ORDERS))[1], key=str) == [
        ("1", "first", "5", "5"), ("2", "late", None, None), ("2", "late", None, None)
    ]  # fmt: skip


def test_what_a_killed_drivers_java_writes_after_that_goes_with_the_run_after(location: str, lake_spark: None) -> None:
    made(location)
    target = LakeTarget(location, "shop")
    write(target.window("a2"))
    target.sweep(3)
    late = folder(location) / "data" / next(iter(_folders(location))) / "late.parquet"
    late.parent.mkdir()
    late.write_text("late")
    target.sweep(4)
    assert not late.exists() and _folders(location)
    target.sweep(5)
    assert not _folders(location)


def folder(location: str) -> Path:
    """The folder of a table."""
    return Path(metadata.table_folder(there(location, ORDERS), FILES).removeprefix("file:"))


def _folders(location: str) -> set[str]:
    with reading(location) as connection:
        return {name for (name,) in connection.exec_driver_sql('SELECT DISTINCT "window" FROM ddlrepl_written')}


def test_a_table_that_removes_old_metadata_keeps_what_readers_have_while_a_window_is_open(
    location: str, lake_spark: None
) -> None:
    own = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
        "write.data.path": f"{location.partition('warehouse=')[2]}/own",
    }
    made(location, ", ".join(f"'{key}' = '{value}'" for key, value in own.items()))
    before = there(location, ORDERS)
    window = LakeTarget(location, "shop").window("a2")
    write(window)
    assert rows_at(before)[1] == [("1", "first")]
    flip(window)
    after = there(location, ORDERS)
    assert sorted(rows_at(after)[1], key=str) == [("1", "first", "5"), ("2", "late", None)]
    found = metadata.properties(after, FILES)
    assert found == metadata.properties(before, FILES) and own.items() <= found.items()
