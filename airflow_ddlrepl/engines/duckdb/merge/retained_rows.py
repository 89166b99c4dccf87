"""This module writes and reads rows that a table of a file has, and that the source's table does not have any more.

Deleted rows are marked (`soft_delete`); a history has a row per change (`time_key`).
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.duckdb.ddl.render import DuckDdl
from airflow_ddlrepl.engines.duckdb.merge.conditions import within
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql
from airflow_ddlrepl.engines.transactional.retained_rows import RetainedRows
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.target_columns import deletion_column, history_columns

RETAINED = RetainedRows(
    DuckDdl(),
    quote,
    qualified,
    columns_sql,
    within,
    lambda text: f"CAST({literal(text)} AS TIMESTAMP WITH TIME ZONE)",
)
"""How deleted rows and histories are written in a file."""


def present_rows(shape: Table, name: TableName, key: Sequence[str]) -> str:
    """Return SQL for the rows of a table that the source has now. shape: the target's. key: its columns, as SQL.

    Of a history these are the newest row of each key after the last TRUNCATE, without deleted ones.
    """
    table, flag, found = qualified(name), deletion_column(shape), history_columns(shape)
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
