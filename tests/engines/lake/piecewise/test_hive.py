"""A Hive metastore changes an entry only from what it was, and keeps names apart that differ in capitals."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog.piecewise.catalogs import catalog_of
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import OneByOne
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.engine import ENGINE
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.metadata_file import code, metadata
from tests.support.lakes.metastore import Metastore

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]
ORDERS = TableName("port", "orders")


def catalog(uri: str) -> OneByOne:
    place = location_of(f"iceberg:///state.db?catalog=hive&warehouse=/wh&uri={uri}")
    assert place.single is not None
    return catalog_of(place, place.single)


def test_an_entry_is_changed_only_from_what_it_was(hive_metastore: Metastore, tmp_path: Path) -> None:
    hive = catalog(hive_metastore.uri)
    first, second, third = (
        metadata(tmp_path, i, *of) for i, of in enumerate((("int", "timestamptz"), ("string",), ("int",)))
    )
    assert hive.of(ORDERS) is None
    hive.add(ORDERS, *first)
    assert hive.of(ORDERS) == first[0] and hive.kinds()[ORDERS] == "table"
    assert code(lambda: hive.add(ORDERS, *second)) == "ADP-104"
    hive.swap(ORDERS, first[0], *second)  # a column of another type, which the metastore refuses to show
    assert hive.of(ORDERS) == second[0]
    assert code(lambda: hive.swap(ORDERS, first[0], *third)) == "TGT-112" and hive.of(ORDERS) == second[0]
    assert code(lambda: hive.drop(ORDERS, first[0])) == "TGT-112"
    hive.drop(ORDERS, second[0])
    assert hive.of(ORDERS) is None and code(lambda: hive.swap(ORDERS, second[0], *third)) == "TGT-112"
    assert Path(second[0]).exists()


def test_what_is_in_the_way_is_told_by_the_table(hive_metastore: Metastore, tmp_path: Path) -> None:
    hive = catalog(hive_metastore.uri)
    for name in (TableName("port", "Orders"), TableName("Port", "orders"), TableName("port", "or-ders")):
        with pytest.raises(DdlReplError, match="takes no such name of a table") as raised:
            hive.of(name)
        assert (raised.value.code, raised.value.table) == ("ADP-110", str(name))
    view = TableName("port", "plain")
    hive.add(view, *metadata(tmp_path, 9, "int"))
    with hive._session() as session:  # type: ignore[attr-defined]
        table = session.table(view)
        table.parameters.pop("table_type")
        session.client.alter_table(*view, table)
    assert code(lambda: hive.of(view)) == "ADP-104"
    assert (
        "one after the other"
        in ENGINE.target_rights(f"iceberg://{tmp_path}/state.db?catalog=hive&uri={hive_metastore.uri}")[0]
    )
    nobody = catalog("thrift://127.0.0.1:1")
    with pytest.raises(DdlReplError) as raised:
        nobody.of(ORDERS)
    assert (raised.value.code, raised.value.retryable) == ("CON-125", True)
