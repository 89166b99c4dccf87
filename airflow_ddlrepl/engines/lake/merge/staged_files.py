"""This module has Spark read staged Parquet files: by its own reader where it reaches them, else by Iceberg's.

Iceberg reads the files of a table only. So the files of an object store become a table of the window's namespace, whose
entry goes with the others of the window.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.connection.java import iceberg, java_table
from airflow_ddlrepl.engines.lake.connection.quoting import literal, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLAIN_DATES = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
_HELD = {"TINYINT": "INT"}
"""Types that Iceberg holds as others."""


def read(spark: SparkSession, beside: str, paths: Sequence[str], types: Mapping[str, str]) -> DataFrame:
    """Return the rows of staged files. beside: the quoted name of a table of the window. types: of all columns."""
    if not paths[0].startswith("s3:"):
        return spark.read.options(**_PLAIN_DATES).schema(_columns(types)).parquet(*paths)
    namespace = beside.rpartition(".`")[0]
    name = f"{namespace}.{quote(f'rows_{uuid.uuid4().hex}')}"
    folder = f"{paths[0].rpartition('/')[0]}/{paths[0].rpartition('/')[2].removesuffix('.parquet')}_table"
    held = {column: _HELD.get(of, of) for column, of in types.items()}
    spark.sql(f"CREATE TABLE {name} ({_columns(held)}) USING iceberg LOCATION {literal(folder)}")
    table, java = java_table(spark, name), iceberg(spark)
    transaction = table.newTransaction()
    names = java.mapping.MappingUtil.create(table.schema())  # the files have no ids of columns
    transaction.updateProperties().set(
        "schema.name-mapping.default", java.mapping.NameMappingParser.toJson(names)
    ).commit()
    metrics, append = java.MetricsConfig.forTable(table), transaction.newAppend()
    for path in paths:
        file = table.io().newInputFile(path)
        measured = java.parquet.ParquetUtil.fileMetrics(file, metrics, names)
        found = java.DataFiles.builder(table.spec()).withInputFile(file).withMetrics(measured).withFormat("PARQUET")
        append.appendFile(found.build())
    append.commit()
    transaction.commitTransaction()
    return spark.table(name)


def _columns(types: Mapping[str, str]) -> str:
    return ", ".join(f"{quote(name)} {of}" for name, of in types.items())
