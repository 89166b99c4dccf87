"""This module refuses what `target_tables` in the channel file gives a table, and what a DuckDB file can't have."""

from __future__ import annotations

from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.read_texts import is_read
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.parser import change_value, expression


def require_possible(own: OwnColumns, table: Table) -> None:
    """Raise Unsupported ADP-164 for a type that DuckDB does not read texts as, and for what else it can't have."""
    for name, text in own.types.items():
        if not is_read(of := column_type(text), physical(of)):
            raise Unsupported(
                f"`types` in `target_tables` gives column {name} the type {of.text}, which a DuckDB file does not read",
                code="ADP-164",
                table=table.name,
                hint="choose text, or a type that it has: numeric(p,s) with p up to 38, a moment of six digits"
                " (docs/duckdb.md)",
            )
    if own.discards and (
        floats := [c.name for c in table.key_columns() if physical(c.type, table.types) in ("FLOAT", "DOUBLE")]
    ):
        raise Unsupported(
            f"rows with a key of floating point can't wait in the queue of a DuckDB file: {', '.join(floats)}",
            code="ADP-164",
            table=table.name,
            hint="choose another `coerce_error_policy` in `target_tables`",
        )
    if computed := [name for name, text in own.extra.items() if change_value(expression(text)) is None]:
        raise Unsupported(
            f"a DuckDB file does not compute columns: {', '.join(computed)}",
            code="ADP-164",
            table=table.name,
            hint="take them out of `extra` in `target_tables`, or compute them in a view of the file",
        )
