"""The change feed is a Spark data source: `spark.read.format("ddlrepl")` reads a table's changes from the trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("ddlrepl")` and `spark.readStream.format("ddlrepl")` known to a session."""
    from airflow_ddlrepl.spark.change_feed.source import TrailSource

    spark.dataSource.register(TrailSource)
