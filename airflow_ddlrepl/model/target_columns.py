"""These columns only a target's table has, by `target_tables` in the channel file: what `Column.extra` says of them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.model.table import Column, Table

DELETED, DELETED_AT = "{deleted}", "{deleted_at}"
"""What gives the values of the columns for `soft_delete` and `deleted_at`."""

HISTORY_OPERATION = "{operation} of history"
"""What gives the values of the operation's column in a table with one row per change (`time_key`)."""

FIRST_ID = 1 << 20
"""Ids from here on are of such columns: no column of a source has so large a number."""


def is_of_channel_file(column: Column) -> bool:
    """Does a column come from the channel file? What it computes was written there, and not at the source."""
    return column.id >= FIRST_ID


@dataclass(frozen=True, slots=True)
class HistoryColumns:
    """History columns are the names of the columns by which a table with one row per change is read."""

    operation: str
    position: str
    sequence: str


def history_columns(shape: Table) -> HistoryColumns | None:
    """Return the columns of a target's table that has one row per change; None for any other table."""
    by_extra = {column.extra: column.name for column in shape.columns}
    if HISTORY_OPERATION not in by_extra:
        return None
    return HistoryColumns(by_extra[HISTORY_OPERATION], by_extra["{position}"], by_extra["{sequence}"])


def retains_rows(shape: Table) -> bool:
    """Does a target's table have rows that its source's table does not have any more?"""
    return bool(deletion_column(shape)) or history_columns(shape) is not None


def deletion_column(shape: Table) -> str:
    """Return the name of a target's column that says whether a row was deleted; "": no deleted row stays."""
    return next((column.name for column in shape.columns if column.extra == DELETED), "")


def deletion_columns(shape: Table) -> tuple[str, str | None] | None:
    """Return the names of a target's columns that say whether and when a row was deleted; None: no row stays."""
    at = next((column.name for column in shape.columns if column.extra == DELETED_AT), None)
    flag = deletion_column(shape)
    return (flag, at) if flag else None
