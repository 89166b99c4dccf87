"""Each test has a lake of its own; all tests of a process share one Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog.entries import create
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing


@pytest.fixture
def location(tmp_path: Path) -> str:
    """Return the location of a lake that has a catalog and no table."""
    found = f"iceberg://{tmp_path}/catalog.db?warehouse={tmp_path}/warehouse"
    with writing(found) as connection:
        create(connection)
    return found


@pytest.fixture
def window(location: str, lake_spark: None) -> Iterator[Window]:
    """Return a window in which tables of the lake are changed."""
    yield Window(location, "ddlrepl_w_test")
