"""The files of a lake whose catalog a REST server has may be in an object store, which the server reads, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes.rest import rest_server
from tests.support.lakes.store import object_store
from tests.support.lakes.story import tell
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]


@pytest.mark.usefixtures("lake_spark")
def test_a_channel_runs_into_a_store_behind_a_rest_server(databases: Databases, tmp_path: Path) -> None:
    with object_store() as store, rest_server(tmp_path / "rest", store) as rest:
        location = f"iceberg://{tmp_path}/state.db?{store.settings()}&{rest.settings()}"

        def read(name: TableName) -> list[dict[str, str | None]]:
            """The rows of a table as PyIceberg reads them at the place that the server says."""
            pointer = rest.pointers()[name]
            assert pointer.startswith("s3://")
            rows = StaticTable.from_metadata(pointer, dict(location_of(location).files.properties)).scan().to_arrow()
            texts = ({key: None if of is None else str(of) for key, of in row.items()} for row in rows.to_pylist())
            return sorted(texts, key=str)

        tell(Replica(databases.source, "", channel_file(tmp_path, databases.source, location)), read)
