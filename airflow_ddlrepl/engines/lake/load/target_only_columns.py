"""This module gives rows that are loaded again the values that only the lake's table has."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.transactional.target_only_columns import TargetOnly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def copy_values(spark: SparkSession, table: str, snapshot: int, own: TargetOnly) -> None:
    """Give a loaded table's rows the values that the rows of an earlier snapshot have. table: its quoted name."""
    if not own.before:
        return
    same = " AND ".join(f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.key.items())
    sets = ", ".join(f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.before.items())
    spark.sql(
        f"MERGE INTO {table} AS ddlrepl_new USING (SELECT * FROM {table} VERSION AS OF {snapshot}) AS ddlrepl_old"
        f" ON {same} WHEN MATCHED THEN UPDATE SET {sets}"
    )


def has_values(spark: SparkSession, table: str | None, columns: Collection[str]) -> bool:
    """Has a row of a table a value in one of these columns? table: its quoted name; None: there is none."""
    if table is None:
        return False
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in columns)
    return bool(spark.sql(f"SELECT 1 FROM {table} WHERE {filled} LIMIT 1").collect())
