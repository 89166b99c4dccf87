"""This module asks the target for which of the log's rows a condition is true, and filters the changes by that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.connection.conditions import full, is_true
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.merge.evaluate_sql import sql_evaluator
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn, staged_columns
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.migration import migrated
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import spelled

if TYPE_CHECKING:
    pass


def restricted(
    cursor: Any, name: str, changes: pa.Table, condition: Part, table: Table, encodings: Mapping[str, str]
) -> pa.Table:
    """Return the changes for a target that takes only the rows which a condition is true for.

    name: of a staging table to use. table: the rows' shape at the source. encodings: of the row files, by column.
    Raises RowsRefused INT-112 where the log does not have whole old rows, INT-113 where a row has no answer.
    """
    op = changes["op"].to_numpy()
    if ((op != Op.INSERT) & (changes["before"].to_numpy() != 2)).any():
        raise RowsRefused(
            "an update or delete of a table with a condition (`restrict`) came without its whole old row: whether the"
            " target has the row is not known",
            code="INT-112",
            table=table.name,
            hint=f"at the source: {full(table.name)}; then `ddlrepl refresh --table` with this table",
        )
    by_name = {column.source_name: column for column in staged_columns(table, table, encodings)}
    if lacking := [column for column in condition.names() if column not in by_name]:
        raise RowsRefused(
            f"the log does not carry {', '.join(lacking)}, which a condition (`restrict`) names",
            code="INT-113",
            table=table.name,
            hint="publish the column, or change the condition: the table is loaded again",
        )
    new_at, old_at = key_rows(changes)
    rows = pa.table({c: key_values(changes, c, new_at, old_at) for c in condition.names()})
    answers = _answers(cursor, name, rows, condition, by_name, table.name)
    was, now = np.zeros(len(op), bool), np.zeros(len(op), bool)
    now[new_at], was[old_at] = answers[: len(new_at)], answers[len(new_at) :]
    return migrated(changes, was, now)


def _answers(
    cursor: Any, name: str, rows: pa.Table, condition: Part, by_name: Mapping[str, StagedColumn], table: TableName
) -> Any:
    """Return for each row whether the condition is true.

    rows: what it looks at, after the changes and then before them.
    """
    used = [by_name[column] for column in condition.names()]
    wanted = is_true(condition, lambda column: by_name[column].image("s"))
    with sql_evaluator(cursor, name, used, rows) as ask:
        try:
            return ask(wanted).column(0).to_numpy()
        except cursor.connection.Error as error:
            if (trouble := passing(error, "the target")) is not None:
                raise trouble from None
            raise RowsRefused(
                f"a row has no answer to the condition {spelled(condition)}: {' '.join(str(error).split())}",
                code="INT-113",
                table=table,
                hint="correct the condition in `restrict`: the table is loaded again",
            ) from None
