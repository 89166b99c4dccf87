"""How deleted rows that stay, and histories, are written in a lake's tables."""

from __future__ import annotations

from airflow_ddlrepl.engines.lake.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.lake.ddl.render import LakeDdl
from airflow_ddlrepl.engines.lake.merge.spark_conditions import within
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.engines.transactional.retained_rows import RetainedRows

RETAINED = RetainedRows(
    LakeDdl(), quote, qualified, columns_sql, within, lambda text: f"CAST({literal(text)} AS TIMESTAMP)"
)
