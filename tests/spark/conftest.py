"""One Spark for all tests of this folder: starting it costs seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings


@pytest.fixture(scope="session")
def runner() -> Iterator[SparkRunner]:
    spark = SparkRunner(SparkSettings("local[2]"))
    yield spark
    spark.stop()
