"""This module gives a table that is loaded again the columns that only the lake's table has, with their values."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.transactional.target_only_columns import TargetOnly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def copy_values(spark: SparkSession, previous: str, table: str, own: TargetOnly) -> None:
    """Give a loaded table the columns, with the values that the rows of the old one have. All names are quoted."""
    for name, of in own.added.items():
        spark.sql(f"ALTER TABLE {table} ADD COLUMN {quote(name)} {of}")
    if own.before:
        same = " AND ".join(
            f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.key.items()
        )
        sets = ", ".join(
            f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.before.items()
        )
        spark.sql(
            f"MERGE INTO {table} AS ddlrepl_new USING {previous} AS ddlrepl_old ON {same}"
            f" WHEN MATCHED THEN UPDATE SET {sets}"
        )


def has_values(spark: SparkSession, table: str | None, columns: Collection[str]) -> bool:
    """Has a row of a table a value in one of these columns? table: its quoted name; None: there is none."""
    if table is None:
        return False
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in columns)
    return bool(spark.sql(f"SELECT 1 FROM {table} WHERE {filled} LIMIT 1").collect())
