"""This module reaches Iceberg's Java classes through the driver's session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def iceberg(spark: SparkSession) -> Any:
    """Return the package `org.apache.iceberg` of the session's Java."""
    return spark._jvm.org.apache.iceberg  # type: ignore[union-attr]


def java_table(spark: SparkSession, name: str) -> Any:
    """Return a table as Iceberg's Java has it, read anew. name: quoted, with the catalog."""
    return iceberg(spark).spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def iceberg_type(spark: SparkSession, spark_type: str) -> Any:
    """Return Iceberg's type for a type of Spark."""
    of = "TIMESTAMP_LTZ" if spark_type == "TIMESTAMP" else spark_type  # its meaning is a setting of somebody's session
    fields = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(f"c {of}")  # type: ignore[union-attr]
    return iceberg(spark).spark.SparkSchemaUtil.convert(fields).findType("c")
