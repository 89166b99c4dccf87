"""This module writes rows that a table of a file has, and that the source's table does not have any more.

Deleted rows are marked (`soft_delete`); a history has a row per change (`time_key`).
"""

from __future__ import annotations

from airflow_ddlrepl.engines.duckdb.ddl.render import DuckDdl
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql, physical
from airflow_ddlrepl.engines.duckdb_sql.conditions import within
from airflow_ddlrepl.engines.duckdb_sql.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.transactional.retained_rows import RetainedRows

RETAINED = RetainedRows(
    DuckDdl(),
    quote,
    qualified,
    columns_sql,
    lambda limit, shape: within(limit, shape, physical),
    lambda text: f"CAST({literal(text)} AS TIMESTAMP WITH TIME ZONE)",
)
"""How deleted rows and histories are written in a file."""
