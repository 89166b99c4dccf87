"""This module reads those rows of a table that its source has now: no deleted ones, and no earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.target_columns import deletion_column, history_columns


def present_rows(shape: Table, table: str, key: Sequence[str]) -> str:
    """Return SQL for the rows of a table that the source has now. All arguments are SQL but the target's shape.

    Of a history these are the newest row of each key after the last TRUNCATE, without deleted ones.
    """
    flag, found = deletion_column(shape), history_columns(shape)
    if flag:
        return f"(SELECT * FROM {table} WHERE NOT {quote(flag)})"
    if found is None or not key:
        return table
    operation, position, sequence = map(quote, (found.operation, found.position, found.sequence))
    last = (
        f"SELECT {position} AS p, {sequence} AS n FROM {table} WHERE {operation} = 'truncate'"
        f" ORDER BY {position} DESC, {sequence} DESC LIMIT 1"
    )
    order = f"t.{position} DESC, t.{sequence} DESC, t.{operation} = 'delete'"
    newest = (
        f"SELECT t.* FROM {table} AS t LEFT JOIN ({last}) AS z ON true WHERE z.p IS NULL OR t.{position} > z.p"
        f" OR (t.{position} = z.p AND t.{sequence} > z.n)"
        f" QUALIFY row_number() OVER (PARTITION BY {', '.join(f't.{one}' for one in key)} ORDER BY {order}) = 1"
    )
    return f"(SELECT * FROM ({newest}) WHERE {operation} <> 'delete')"
