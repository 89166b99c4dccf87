"""A Hadoop catalog is written by files alone: other writers find what they expect, and nothing of theirs goes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.lake.catalog.piecewise.hadoop import HadoopCatalog
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, WrittenMeanwhile
from airflow_ddlrepl.model.names import TableName

ORDERS = TableName("public", "orders")


@pytest.fixture
def catalog(tmp_path: Path) -> HadoopCatalog:
    return HadoopCatalog(str(tmp_path))


def metadata(number: int, **properties: str) -> dict[str, Any]:
    return {"table-uuid": "1", "number": number, "properties": properties}


def folder(catalog: HadoopCatalog) -> Path:
    return Path(catalog.warehouse, "public", "orders", "metadata")


def test_a_version_is_made_only_where_there_is_none_of_its_number(catalog: HadoopCatalog) -> None:
    assert catalog.of(ORDERS) is None and catalog.kinds() == {}
    catalog.add(ORDERS, "", metadata(1))
    first = catalog.of(ORDERS)
    assert first == str(folder(catalog) / "v1.metadata.json") and catalog.kinds() == {ORDERS: "table"}
    with pytest.raises(CannotAdapt) as taken:
        catalog.add(ORDERS, "", metadata(2))
    assert taken.value.code == "ADP-104"
    (folder(catalog) / ".version-hint.text.crc").write_bytes(b"of another writer's hint")
    catalog.swap(ORDERS, first, "", metadata(2))
    assert (folder(catalog) / "version-hint.text").read_text() == "2"
    assert not (folder(catalog) / ".version-hint.text.crc").exists(), "Hadoop would refuse the hint"
    (folder(catalog) / "v3.gz.metadata.json").write_bytes(gzip.compress(b"{}"))  # somebody else's
    for base in (first, str(folder(catalog) / "v2.metadata.json"), str(folder(catalog) / "v9.metadata.json")):
        with pytest.raises(WrittenMeanwhile):
            catalog.swap(ORDERS, base, "", metadata(4))
    last = catalog.of(ORDERS)
    assert last is not None and last.endswith("v3.gz.metadata.json")
    catalog.swap(ORDERS, last, "", metadata(4, **{"write.metadata.compression-codec": "gzip"}))
    assert json.loads(gzip.decompress((folder(catalog) / "v4.gz.metadata.json").read_bytes()))["number"] == 4
    with pytest.raises(WrittenMeanwhile):
        catalog.drop(ORDERS, last)
    assert not list(folder(catalog).glob("*.made"))


def test_numbers_are_not_used_again(catalog: HadoopCatalog) -> None:
    """So a program that has a table open that was dropped can't take the next one of its name for it."""
    catalog.add(ORDERS, "", metadata(1))
    catalog.swap(ORDERS, str(catalog.of(ORDERS)), "", metadata(2))
    (folder(catalog) / "00002-other.avro").touch()
    catalog.drop(ORDERS, str(catalog.of(ORDERS)))
    assert catalog.of(ORDERS) is None and catalog.kinds() == {} and (folder(catalog) / "00002-other.avro").exists()
    catalog.add(ORDERS, "", metadata(3))
    assert catalog.of(ORDERS) == str(folder(catalog) / "v3.metadata.json")


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "a:b", "a\\b", "ddlrepl_tables", "a\nb", ""])
def test_names_that_are_no_folder_are_refused(catalog: HadoopCatalog, name: str) -> None:
    for one in (TableName("public", name), TableName(name, "orders")):
        with pytest.raises(DdlReplError, match="takes no such name") as caught:
            catalog.of(one)
        assert (caught.value.code, caught.value.table) == ("ADP-110", str(one))
    assert catalog.of(TableName("Schéma mit Lücken", "50% 'of' \"x\"")) is None


def test_what_readers_see_is_said_beforehand(tmp_path: Path) -> None:
    there = f"iceberg://{tmp_path}/state.db?catalog=hadoop&warehouse={tmp_path}/wh"
    assert "one after the other" in ENGINE.target_rights(there)[0]
    assert location_of(there).single is not None
