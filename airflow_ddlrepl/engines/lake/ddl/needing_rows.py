"""This module says for which schema changes of a lake's table the rows in front of them have to be merged first.

Others only name, add and drop columns, or make them wider: rows that were written before them come to the same values
when they are merged behind them. Values go by the columns' ids, and a row that is older than a column has there what
the source shows. So a window merges a table's rows once, and not in front of each such change.
"""

from __future__ import annotations

from airflow_ddlrepl.adapt.plan_model import StepKind
from airflow_ddlrepl.adapt.program.program import ProgramStep
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import retains_rows

_HARMLESS = "ALTER TABLE "
"""How statements begin that read and write no rows."""


def needs_rows(step: ProgramStep) -> bool:
    """Must the rows in front of a step be merged before it?"""
    before, after = step.before, step.after
    if before is None or after is None or step.truncates:
        return True
    if not (_is_plain(before) and _is_plain(after)) or _key(before) != _key(after):
        return True
    shown = {column.id: column.missing for column in before.shape.columns}
    if any(shown.get(column.id, column.missing) != column.missing for column in after.shape.columns):
        return True  # the source has written its rows again: from here on it does not say what older ones had
    parts = step.plan.steps if step.plan else ()
    if any(part.kind not in (StepKind.SQL, StepKind.WARN) for part in parts):
        return True
    return not all(statement.startswith(_HARMLESS) for part in parts for statement in part.sql)


def _is_plain(table_state: TableState) -> bool:
    """Has a table the source's rows, found by a key, and nothing else?"""
    shape = table_state.shape
    is_live = table_state.state is TableStatus.LIVE and table_state.partial is None
    return is_live and bool(shape.key_columns()) and not shape.is_partitioned and not retains_rows(shape)


def _key(table_state: TableState) -> list[int]:
    return [column.id for column in table_state.shape.key_columns()]
