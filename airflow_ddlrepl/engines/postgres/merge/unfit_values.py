"""This module finds the values in the log's rows that the target's columns can't hold, and does what the file says.

By `coerce_error_policy: null` they become NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.merge.evaluate_sql import sql_evaluator
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn
from airflow_ddlrepl.engines.postgres.types.misfits import functions, misfit, told_null
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints
    from airflow_ddlrepl.integrate.netting.presence import Flags

Unfit = Sequence[tuple[StagedColumn, Column]]
"""Staged columns whose values the target's column may not be able to hold, each with that column."""


@dataclass(frozen=True, slots=True)
class Nulled:
    """These are changes whose values all fit. counts: how many became NULL, by what to tell."""

    changes: pa.Table
    counts: dict[str, int]


def with_nulls(cursor: Callable[[], Any], name: str, changes: pa.Table, unfit: Unfit, table: TableName) -> Nulled:
    """Return the changes with NULL for each value that a column of the target can't hold, in old and new rows.

    cursor: opens one on the target. name: of a staging table to use. table: at the target.
    Raises RowsRefused INT-133 where the column is NOT NULL.
    """
    new_at, old_at = key_rows(changes)
    if not all(f"b_{column.source_name}" in changes.column_names for column, _ in unfit):
        old_at = old_at[:0]
    rows = pa.table({c.source_name: key_values(changes, c.source_name, new_at, old_at) for c, _ in unfit})
    counts: dict[str, int] = {}
    if not rows.num_rows:
        return Nulled(changes, counts)
    fits = _fits(cursor(), name, rows, unfit)
    for (column, ours), fit in zip(unfit, fits, strict=True):
        new, old = ~fit[: len(new_at)], ~fit[len(new_at) :]
        if new.any() and not ours.nullable:
            raise RowsRefused(
                f"{int(new.sum())} values of column {ours.name} do not fit {ours.type.text}, and can't become NULL"
                " (`coerce_error_policy`): the column is NOT NULL",
                code="INT-133",
                table=table,
                hint="correct the rows at the source and run `ddlrepl refresh --table` with this table; or write"
                " another `coerce_error_policy`, or a type that holds the values (`types`)",
            )
        if new.any():
            counts[told_null(ours)] = int(new.sum())
            changes = _without(changes, f"a_{column.source_name}", new_at[new])
        if old.any():
            changes = _without(changes, f"b_{column.source_name}", old_at[old])
    return Nulled(changes, counts)


def _fits(cursor: Any, name: str, rows: pa.Table, unfit: Unfit) -> list[Flags]:
    """Return for each column which of its values the target's column can hold."""
    for statement in functions(ours for _, ours in unfit):
        cursor.execute(statement)
    wanted = (f"{misfit(ours, column.text('s'))} IS NULL AS {column.staged_name}" for column, ours in unfit)
    with sql_evaluator(cursor, name, [column for column, _ in unfit], rows) as ask:
        return [values.to_numpy() for values in ask(", ".join(wanted)).columns]


def _without(changes: pa.Table, name: str, at: Ints) -> pa.Table:
    """Return the changes with NULL in these rows of a column."""
    there = np.arange(changes.num_rows)
    gone = np.zeros(changes.num_rows, bool)
    gone[at] = True
    values = changes[name].take(pa.array(there, mask=gone))
    return changes.set_column(changes.column_names.index(name), name, values)
