"""A disk that is full stops a run into a DuckDB file by name, and nothing of the file is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.conformance import places
from tests.conftest import Databases
from tests.support.disks import small_disk

WIDE = "select i, repeat(md5(i::text), 40) from generate_series({}, {}) i"


@pytest.mark.parametrize("by", ["load", "changes"])
def test_a_full_disk_is_named_and_made_good(databases: Databases, tmp_path: Path, by: str) -> None:
    with small_disk(24 << 20) as disk:
        elsewhere = {"repository": f"sqlite:///{tmp_path}/repository.db", "trail": str(tmp_path / "trail")}
        place = places.duckdb(disk.folder, databases.source, **elsewhere)
        place.start("create table wide (id int primary key, t text)")
        if by == "load":
            place.replica.at_source(f"create table late (id, t) as {WIDE.format(1, 20000)}")
            place.replica.at_source("alter table late add primary key (id)")
        else:
            place.replica.at_source(f"insert into wide {WIDE.format(1, 20000)}")
        disk.leave(1 << 20)
        with pytest.raises(DdlReplError) as raised:
            place.replica.replicate()
        assert raised.value.code == "DSK-103" and raised.value.retryable, raised.value
        assert str(disk.folder) in raised.value.message
        disk.make_room()
        disk.resize(256 << 20)
        place.settle()
        place.replica.check_equal()
