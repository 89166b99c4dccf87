"""This step leaves the changes of rows that a target takes (`restrict`): the target says for which that is so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.migration import migrated
from airflow_ddlrepl.integrate.netting.presence import has_old_rows
from airflow_ddlrepl.integrate.steps.old_rows import THEN
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.notation.condition.parser import spelled
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, NoAnswer, RowEvaluator


def restrict(
    evaluator: RowEvaluator, changes: pa.Table, condition: Part, table: Table, encodings: Mapping[str, str], hint: str
) -> pa.Table:
    """Return the changes for a target that takes only the rows which a condition is true for.

    table: the rows' shape at the source. encodings: of the row files, by column. hint: how the log comes to have whole
    old rows.
    Raises RowsRefused INT-112 where the log does not have whole old rows, INT-113 where a row has no answer.
    """
    if not has_old_rows(changes):
        raise RowsRefused(
            "an update or delete of a table with a condition (`restrict`) came without its whole old row: whether the"
            " target has the row is not known",
            code="INT-112",
            table=table.name,
            hint=hint + THEN,
        )
    known = {column.name for column in table.columns if not column.generated} & encodings.keys()
    if lacking := [column for column in condition.names() if column not in known]:
        raise RowsRefused(
            f"the log does not carry {', '.join(lacking)}, which a condition (`restrict`) names",
            code="INT-113",
            table=table.name,
            hint="publish the column, or change the condition: the table is loaded again",
        )
    new_at, old_at = key_rows(changes)
    rows = pa.table({name: key_values(changes, name, new_at, old_at) for name in condition.names()})
    try:
        answers = evaluator.is_true(condition, LoggedRows(rows, table, encodings))
    except NoAnswer as why:
        raise RowsRefused(
            f"a row has no answer to the condition {spelled(condition)}: {why}",
            code="INT-113",
            table=table.name,
            hint="correct the condition in `restrict`: the table is loaded again",
        ) from None
    was, now = np.zeros(changes.num_rows, bool), np.zeros(changes.num_rows, bool)
    now[new_at], was[old_at] = answers[: len(new_at)], answers[len(new_at) :]
    return migrated(changes, was, now)
