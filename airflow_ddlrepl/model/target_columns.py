"""These columns only a target's table has, by `target_tables` in the channel file: what `Column.extra` says of them."""

from __future__ import annotations

from airflow_ddlrepl.model.table import Table

DELETED, DELETED_AT = "{deleted}", "{deleted_at}"
"""What gives the values of the columns for `soft_delete` and `deleted_at`."""


def deletion_column(shape: Table) -> str:
    """Return the name of a target's column that says whether a row was deleted; "": no deleted row stays."""
    return next((column.name for column in shape.columns if column.extra == DELETED), "")


def deletion_columns(shape: Table) -> tuple[str, str | None] | None:
    """Return the names of a target's columns that say whether and when a row was deleted; None: no row stays."""
    at = next((column.name for column in shape.columns if column.extra == DELETED_AT), None)
    flag = deletion_column(shape)
    return (flag, at) if flag else None
