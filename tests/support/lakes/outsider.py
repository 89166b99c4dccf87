"""Somebody else who writes to the tables of a lake by Spark, in ways that are none of the product's."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.lake.connection.location import location_of
from tests.support.lakes.catalogs import jdbc
from tests.support.lakes.warm_spark import warm_runner


def somebody(location: str) -> Any:
    """A session of Spark that has the tables as `lake.public.orders`."""
    spark = warm_runner()._started().newSession()
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        **{f".{key}": value for key, value in jdbc(location).items()},
        ".jdbc.schema-version": "V1",
        ".warehouse": str(location_of(location).warehouse),
        ".cache-enabled": "false",
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.lake{key}", value)
    return spark
