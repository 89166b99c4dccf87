"""This module writes values of a source, known by their texts, in Spark's SQL."""

from __future__ import annotations

from airflow_ddlrepl.engines.lake.connection.quoting import literal
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Table

_ENDLESS = ("infinity", "-infinity")


def value(text: str | None, column: Column, table: Table) -> str:
    """Return SQL for a value of a column whose text at the source is known; None is NULL.

    Raises Unsupported ADP-110 for a moment before the year 1, or without an end: a load writes these.
    """
    held = physical(column.type, table.types)
    if text is None:
        return f"CAST(NULL AS {held})"
    if held == TEXT:
        return literal(text)
    if held == "BINARY":
        return f"unhex({literal(text[2:])})"
    if held in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ") and (text.endswith(" BC") or text in _ENDLESS):
        raise Unsupported(
            f"the value {text} of {column.name} is written by a load only",
            code="ADP-110",
            table=table.name,
            hint="load this table again: ddlrepl refresh --table",
        )
    return f"CAST({literal(text)} AS {held})"
