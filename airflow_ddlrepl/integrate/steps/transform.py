"""This step replaces values by those that a function of the channel file computes (`transform`), from texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.integrate.steps.old_rows import THEN
from airflow_ddlrepl.mapping.values import Transform, values
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, RowEvaluator

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints


def transformed(
    evaluator: RowEvaluator,
    changes: pa.Table,
    transform: Transform,
    table: Table,
    encodings: Mapping[str, str],
    hint: str,
    *,
    has_old_rows: bool,
) -> pa.Table:
    """Return the changes with a function's values as text, in new rows and in old ones.

    table: the rows' shape at the source. encodings: of the row files, by column. hint: how the log comes to have whole
    old rows. has_old_rows: were they read, and not their keys alone?
    Raises RowsRefused INT-112 where the log has left a value out, INT-113 where it does not have a column, and what
    `values` raises.
    """
    if lacking := [column for column in transform.reads if column not in encodings]:
        raise RowsRefused(
            f"the log does not carry {', '.join(lacking)}, which a function of `transform` reads",
            code="INT-113",
            table=table.name,
            hint="publish the column, or leave it out of `reads` of the entry: the table is loaded again",
        )
    _require_whole(changes, transform, list(encodings), table, hint)
    new_at, old_at = key_rows(changes)
    old_at = old_at if has_old_rows else old_at[:0]
    read = pa.table({name: key_values(changes, name, new_at, old_at) for name in transform.reads})
    texts = evaluator.as_text(LoggedRows(read, table, encodings)) if read.num_rows else _no_texts(read)
    for column, computed in values(transform, texts, table.name).items():
        new, old = computed.slice(0, len(new_at)), computed.slice(len(new_at))
        changes = _with(changes, f"a_{column}", new, new_at)
        if has_old_rows:
            changes = _with(changes, f"b_{column}", old, old_at)
    return changes


def _no_texts(read: pa.Table) -> pa.Table:
    return pa.schema([(name, pa.string()) for name in read.column_names]).empty_table()


def _require_whole(changes: pa.Table, transform: Transform, layout: Sequence[str], table: Table, hint: str) -> None:
    absent = absent_columns(changes["absent"], layout)
    if left_out := [name for name in transform.reads if name in absent]:
        raise RowsRefused(
            f"an update came without the value of {', '.join(left_out)}, which a function of `transform` reads",
            code="INT-112",
            table=table.name,
            hint=hint + THEN,
        )


def _with(changes: pa.Table, name: str, computed: pa.ChunkedArray, at: Ints) -> pa.Table:
    """Return the changes with values in these rows of a column, and nulls in the others."""
    places = np.full(changes.num_rows, -1, np.int64)
    places[at] = np.arange(len(at))
    found = computed.take(pa.array(places, mask=places < 0))
    return changes.set_column(changes.column_names.index(name), name, found)
