"""This module says which columns of its own, by `target_tables` in the channel file, a DuckDB file's table can have."""

from __future__ import annotations

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.engines.duckdb_sql.read_texts import is_read
from airflow_ddlrepl.engines.held_types.possible_columns import PossibleColumns
from airflow_ddlrepl.notation.condition.parser import change_value

POSSIBLE_COLUMNS = PossibleColumns(
    "a DuckDB file",
    "docs/duckdb.md",
    DUCK_TYPES,
    lambda of: is_read(of, physical(of)),
    lambda part: change_value(part) is not None,
)
