"""This module reads the rows that a table has now out of one that has a row per change (`time_key`)."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.target_columns import history_columns


def current_rows(shape: Table, name: TableName, key: Sequence[str]) -> str:
    """Return SQL for the newest row of each key after the last TRUNCATE, without deleted ones; "" for other tables.

    shape: of the target's table. key: SQL of its key's columns.
    """
    found = history_columns(shape)
    if found is None or not key:
        return ""
    operation, position, sequence = (f"t.{quote(one)}" for one in (found.operation, found.position, found.sequence))
    table, keys = f"ONLY {qualified(name)}", ", ".join(key)
    last = (
        f"SELECT {position} AS p, {sequence} AS n FROM {table} t WHERE {operation} = 'truncate'"
        f" ORDER BY {position} DESC, {sequence} DESC LIMIT 1"
    )
    newest = (
        f"SELECT DISTINCT ON ({keys}) t.* FROM {table} t LEFT JOIN ({last}) AS z ON true"
        f" WHERE z.p IS NULL OR ({position}, {sequence}) > (z.p, z.n)"
        f" ORDER BY {keys}, {position} DESC, {sequence} DESC, {operation} = 'delete'"
    )
    return f"(SELECT * FROM ({newest}) AS t WHERE {operation} <> 'delete') AS t"
