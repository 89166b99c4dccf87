"""What a machine does to a lake: each time an error that says what to do, nothing is lost, and the next run goes on."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog import metadata
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.conformance.lake_place import iceberg
from tests.conformance.places import Place
from tests.conftest import Databases
from tests.support.disks import SmallDisk, small_disk
from tests.support.lakes.reader import Beside, pointers

pytestmark = pytest.mark.xdist_group("spark")
V0 = """CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
PRIMARY KEY (catalog_name, table_namespace, table_name))"""
WIDE = "select i, repeat(md5(i::text), 40) from generate_series({}, {}) i"


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with small_disk(24 << 20) as found:
        yield found


def on(disk: SmallDisk, databases: Databases, folder: Path) -> Place:
    """A channel whose lake alone is on the disk; in a catalog that an old Iceberg has made."""
    with closing(sqlite3.connect(disk.folder / "catalog.db")) as catalog:
        catalog.execute(V0)
    elsewhere = {"repository": f"sqlite:///{folder}/repository.db", "trail": f"file://{folder}/trail"}
    return iceberg(disk.folder, databases.source, list[Beside](), **elsewhere)


def refused(place: Place) -> DdlReplError:
    """The error of a cycle."""
    with pytest.raises(DdlReplError) as raised:
        place.replica.replicate()
    return raised.value


def test_a_warehouse_that_takes_no_files_or_is_full(
    databases: Databases, tmp_path: Path, disk: SmallDisk, lake_spark: None
) -> None:
    place = on(disk, databases, tmp_path)
    place.start("create table wide (id int primary key, t text)")
    warehouse = disk.folder / "warehouse"
    for number, work in enumerate(("insert into orders values ({}, 'x')", "create table t{} (id int)"), 100):
        place.replica.at_source(work.format(number), f"alter table orders add c{number} int default 1")
        subprocess.run(["mount", "--bind", str(warehouse), str(warehouse)], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(warehouse)], check=True)
            error = refused(place)
        finally:
            subprocess.run(["umount", "-l", str(warehouse)], check=True)
        assert error.code == "CON-101" and "may write" in error.hint, error
        place.settle()
    place.replica.at_source(
        f"create table late (id, t) as {WIDE.format(1, 20000)}", "alter table late add primary key (id)"
    )
    for work in ("", f"insert into wide {WIDE.format(1, 20000)}"):
        if work:
            place.replica.at_source(work)
        disk.leave(1 << 20)
        error = refused(place)
        assert error.code == "DSK-103" and error.retryable, error
        disk.make_room()
        disk.resize(256 << 20)
        place.settle()


def test_a_table_whose_metadata_file_is_gone_stops_alone(
    databases: Databases, tmp_path: Path, disk: SmallDisk, lake_spark: None
) -> None:
    place = on(disk, databases, tmp_path)
    place.start("create table items (id int primary key, note text)")
    location = f"iceberg://{disk.folder}/catalog.db"
    path = Path(pointers(location)[TableName("public", "orders")].removeprefix("file:"))
    aside = path.with_suffix(".aside")
    path.rename(aside)
    metadata._unchanged.cache_clear()  # a run of its own has not read it
    place.replica.at_source("insert into orders values (100, 'late')", "insert into items values (1, 'goes on')")
    with pytest.raises(DdlReplError) as raised:
        place.replica.replicate()
    assert "TGT-115" in str(raised.value) and "public.orders" in str(raised.value) and path.name in str(raised.value)
    assert place.read(TableName("public", "items")) == [{"id": "1", "note": "goes on"}]
    aside.rename(path)
    place.settle()
