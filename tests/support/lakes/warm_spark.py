"""The one local Spark of a process of tests: it starts in seconds, and can write lakes."""

from __future__ import annotations

from functools import lru_cache

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings

LAKES = ("iceberg:///lake/catalog.db", "iceberg:///lake/catalog.db?warehouse=s3://bucket/lake")
"""Lakes anywhere: what their engine needs of a session depends on where the files are."""


@lru_cache(maxsize=1)
def warm_runner() -> SparkRunner:
    """A runner whose session engines get in this process, too."""
    return SparkRunner(SparkSettings("local[2]", targets=LAKES))
