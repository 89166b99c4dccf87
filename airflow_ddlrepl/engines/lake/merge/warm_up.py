"""This module runs a window in a lake of its own, so that Java loads the classes that every window loads."""

from __future__ import annotations

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.engines.lake.merge.stage import DELETE, UPDATE
from airflow_ddlrepl.model.names import TableName

_NAME = TableName("public", "warm_up")
_COLUMNS = {
    "id": ("BIGINT", "id"),
    "amount": ("DECIMAL(12,2)", "CAST(id AS DECIMAL(12,2)) / 4"),
    "note": ("STRING", "CAST(id AS STRING)"),
    "changed": ("TIMESTAMP", "timestamp_seconds(id)"),
}


def warm_up(folder: str) -> None:
    """Make a table in a lake in a folder, insert rows, merge changes, and make both visible."""
    location = f"iceberg://{folder}/catalog.db?warehouse={folder}/warehouse"
    lake_session(location)  # which makes the catalog's own tables
    for is_new, low in ((True, 0), (False, 500)):
        window = Window(location, "w_warm_up")
        window.begin()
        if is_new:
            window.create(_NAME, ", ".join(f"{quote(name)} {type_}" for name, (type_, _) in _COLUMNS.items()))
        _merge(window, folder, low, is_new=is_new)
        window.commit()
        with writing(location) as connection:
            window.flip(connection)


def _merge(window: Window, folder: str, low: int, *, is_new: bool) -> None:
    """Merge a thousand rows from there on: updates and deletions of those that are there, else inserts."""
    spark, to = window.spark, window.table(_NAME)
    file = f"{folder}/rows-{low}"
    rows = spark.range(low, low + 1000, numPartitions=1)
    rows.selectExpr(
        *(f"{value} AS {name}" for name, (_, value) in _COLUMNS.items()), "CAST(id % 3 AS TINYINT) AS op"
    ).write.parquet(file)
    spark.read.parquet(file).createOrReplaceTempView("warm_up")
    names = ", ".join(map(quote, _COLUMNS))
    values = ", ".join(f"s.{quote(name)}" for name in _COLUMNS)
    matched = f"""WHEN MATCHED AND s.op = {DELETE} THEN DELETE
        WHEN MATCHED AND s.op = {UPDATE} THEN UPDATE SET {quote("note")} = s.{quote("note")}
       """
    spark.sql(
        f"MERGE INTO {to} AS t USING warm_up AS s ON t.`id` = s.`id` {'' if is_new else matched}"
        f" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
    )
    java_table(spark, to).currentSnapshot().summary()
