"""This module replaces values in the log's rows by those that a function computes.

What it looks at is text, as PostgreSQL writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.conditions import full
from airflow_ddlrepl.engines.postgres.merge.evaluate_sql import sql_evaluator
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn, staged_columns
from airflow_ddlrepl.engines.postgres.types.as_written import written
from airflow_ddlrepl.engines.postgres.types.underlying import underlying
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.presence import absent_columns
from airflow_ddlrepl.mapping.values import Transform, values
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from airflow_ddlrepl.integrate.netting.equality import Ints

_WHOLE_NUMBERS = ("int2", "int4", "int8")


def transformed(
    cursor: Callable[[], Any],
    name: str,
    changes: pa.Table,
    transform: Transform,
    table: Table,
    encodings: Mapping[str, str],
) -> pa.Table:
    """Return the changes with a function's values: in `a_` columns, and of a table without a key in `b_`, as text.

    cursor: opens one on the target. name: of a staging table to use. table: the rows' shape at the source.
    encodings: of the row files, by column. Raises RowsRefused INT-112 where the log has left a value out, INT-113 where
    it does not have a column, and what `values` raises.
    """
    if lacking := [column for column in transform.reads if column not in encodings]:
        raise RowsRefused(
            f"the log does not carry {', '.join(lacking)}, which a function of `transform` reads",
            code="INT-113",
            table=table.name,
            hint="publish the column, or leave it out of `reads` of the entry: the table is loaded again",
        )
    _require_whole(changes, transform, list(encodings), table)
    new_at, old_at = key_rows(changes)
    old_at = old_at[:0] if table.key else old_at
    read = {c: key_values(changes, c, new_at, old_at) for c in transform.reads}
    rows = pa.table(_texts(cursor, name, read, table, encodings))
    for column, computed in values(transform, rows, table.name).items():
        new, old = computed.slice(0, len(new_at)), computed.slice(len(new_at))
        changes = _with(changes, f"a_{column}", new, new_at)
        if not table.key:
            changes = _with(changes, f"b_{column}", old, old_at)
    return changes


def _require_whole(changes: pa.Table, transform: Transform, layout: Sequence[str], table: Table) -> None:
    absent = absent_columns(changes["absent"], layout)
    if left_out := [name for name in transform.reads if name in absent]:
        raise RowsRefused(
            f"an update came without the value of {', '.join(left_out)}, which a function of `transform` reads",
            code="INT-112",
            table=table.name,
            hint=f"at the source: {full(table.name)}; then `ddlrepl refresh --table` with this table",
        )


def _with(changes: pa.Table, name: str, computed: pa.ChunkedArray, at: Ints) -> pa.Table:
    """Return the changes with values in these rows of a column, and nulls in the others."""
    places = np.full(changes.num_rows, -1, np.int64)
    places[at] = np.arange(len(at))
    found = computed.take(pa.array(places, mask=places < 0))
    return changes.set_column(changes.column_names.index(name), name, found)


def _texts(
    cursor: Callable[[], Any], name: str, read: Mapping[str, pa.Array], table: Table, encodings: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values that a function reads as text.

    What does not come as text is written by the target; whole numbers and truth values need no server.
    """
    types = {column.name: column.type for column in table.columns}
    found: dict[str, Any] = {}
    for column, rows in read.items():
        if pa.types.is_string(rows.type):
            found[column] = rows
        elif underlying(types[column], table.types)[0] in _WHOLE_NUMBERS:
            found[column] = rows.cast(pa.string())
        elif pa.types.is_boolean(rows.type):
            found[column] = pc.if_else(rows, "t", "f")
    others = [column for column in read if column not in found]
    if others:
        columns = {column.source_name: column for column in staged_columns(table, table, encodings)}
        found |= _written(cursor(), name, {column: read[column] for column in others}, [columns[c] for c in others])
    return {column: found[column] for column in read}


def _written(cursor: Any, name: str, read: Mapping[str, pa.Array], columns: Sequence[StagedColumn]) -> dict[str, Any]:
    texts = ", ".join(f"{written(replace(column, cast='').value('s'))} AS {column.staged_name}" for column in columns)
    with sql_evaluator(cursor, name, columns, pa.table(dict(read))) as ask:
        found = ask(texts)
    return {column.source_name: values for column, values in zip(columns, found.columns, strict=True)}
