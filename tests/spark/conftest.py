"""One Spark for all tests of this folder, and of those that write lakes: starting it costs seconds."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from tests.support.lakes.warm_spark import warm_runner


@pytest.fixture(scope="session")
def runner() -> SparkRunner:
    return warm_runner()
