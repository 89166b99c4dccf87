"""This step makes values NULL that the target's columns can't hold (`coerce_error_policy: null`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.mapping.misfits import null_warning
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints


def with_nulls(
    evaluator: RowEvaluator, changes: pa.Table, unfit: Sequence[RowColumn], table: Table, name: TableName
) -> tuple[pa.Table, dict[str, int]]:
    """Return the changes with NULL for each value that its column can't hold, and how many, by what a person is told.

    unfit: the columns to look at, in old and new rows. table: the rows' shape at the source. name: of the target's.
    Raises RowsRefused INT-133 where the column is NOT NULL.
    """
    new_at, old_at = key_rows(changes)
    if not all(f"b_{column.name}" in changes.column_names for column in unfit):
        old_at = old_at[:0]
    rows = pa.table({column.name: key_values(changes, column.name, new_at, old_at) for column in unfit})
    counts: dict[str, int] = {}
    if not rows.num_rows:
        return changes, counts
    encodings = {column.name: column.encoding for column in unfit}
    found = evaluator.misfits(LoggedRows(rows, table, encodings), {column.name: column.target for column in unfit})
    for column in unfit:
        is_bad = np.asarray(pc.is_valid(found[column.name]))
        new, old, ours = is_bad[: len(new_at)], is_bad[len(new_at) :], column.target
        if new.any() and not ours.nullable:
            raise RowsRefused(
                f"{int(new.sum())} values of column {ours.name} do not fit {ours.type.text}, and can't become NULL"
                " (`coerce_error_policy`): the column is NOT NULL",
                code="INT-133",
                table=name,
                hint="correct the rows at the source and run `ddlrepl refresh --table` with this table; or write"
                " another `coerce_error_policy`, or a type that holds the values (`types`)",
            )
        if new.any():
            counts[null_warning(ours)] = int(new.sum())
            changes = _without(changes, f"a_{column.name}", new_at[new])
        if old.any():
            changes = _without(changes, f"b_{column.name}", old_at[old])
    return changes, counts


def _without(changes: pa.Table, name: str, at: Ints) -> pa.Table:
    """Return the changes with NULL in these rows of a column."""
    there = np.arange(changes.num_rows)
    gone = np.zeros(changes.num_rows, bool)
    gone[at] = True
    values = changes[name].take(pa.array(there, mask=gone))
    return changes.set_column(changes.column_names.index(name), name, values)
