"""This module nets the changes of a task: by key, as whole rows of a table without one, or as rows of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.netting.equality import exact
from airflow_ddlrepl.integrate.netting.images import OldRowMissing, SameKey, net_images
from airflow_ddlrepl.integrate.netting.keys import KeyIds, distinct_keys, target_keys
from airflow_ddlrepl.integrate.netting.net_changes import NOTHING, NetRows, Netting, net
from airflow_ddlrepl.integrate.netting.presence import absent_columns, with_whole_keys
from airflow_ddlrepl.integrate.row_plan import RowPlan
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.old_rows import THEN
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, RowEvaluator
from airflow_ddlrepl.ports.types import Equality


def net_rows(changes: pa.Table, task: StageTask, plan: RowPlan, evaluator: RowEvaluator) -> NetRows:
    """Return what a task's changes do to the target's rows, all together.

    Raises RowsRefused INT-111 where old rows are missing, INT-115 where two rows have one key.
    """
    if plan.is_history:
        return NetRows(NOTHING, NOTHING, NOTHING, changes.select([f"a_{column.name}" for column in plan.columns]))
    return _by_key(changes, task, plan, evaluator) if plan.key else _images(changes, task, plan)


def _by_key(changes: pa.Table, task: StageTask, plan: RowPlan, evaluator: RowEvaluator) -> NetRows:
    names, old = [column.name for column in plan.columns], [column.name for column in plan.of_source]
    is_contested = task.conflicts is not None
    how = Netting(bool(task.own.key), task.is_resilient or is_contested, old if is_contested else None)
    try:
        rows = net(changes, plan.names, plan.key, names, _numbered(changes, task, plan, evaluator), how)
    except SameKey:
        raise RowsRefused(
            f"two rows of the source have one key by `target_tables`: {', '.join(key.name for key in plan.key)}",
            code="INT-115",
            table=task.target_name,
            hint="name columns in `key` that tell the rows apart, or delete one of the two at the source; then"
            " `ddlrepl refresh --table` with this table",
        ) from None
    if task.conflicts is None or not rows.updates.num_rows:
        return rows
    set_names = [column.name for column in plan.of_source if column.is_set]
    return replace(rows, updates=_of_changed_columns(rows.updates, task.conflicts, set_names))


def _numbered(changes: pa.Table, task: StageTask, plan: RowPlan, evaluator: RowEvaluator) -> KeyIds | None:
    """Return the keys' numbers by the target, where only that can compare them; else None."""
    if not any(key.equality is Equality.TARGET for key in plan.key):
        return None
    names = [key.name for key in plan.key]
    whole = with_whole_keys(changes, names, absent_columns(changes["absent"], plan.names))
    values, codes = distinct_keys(whole, plan.key)
    ours = {column.name: column.target for column in plan.of_source if column.name in names}
    return target_keys(whole, codes, evaluator.key_numbers(LoggedRows(values, task.table, plan.encodings), ours))


def _of_changed_columns(updates: pa.Table, by: ConflictAnswers, names: Sequence[str]) -> pa.Table:
    """Return updates that set the columns alone which the source has changed, where not all are compared.

    names: of the source's columns that updates set.
    """
    if all(map(by.compares, names)):
        return updates
    for name in names:
        if f"h_{name}" not in updates.column_names:
            updates = updates.append_column(f"h_{name}", _differs(updates[f"a_{name}"], updates[f"b_{name}"]))
    return updates


def _differs(new: pa.ChunkedArray, old: pa.ChunkedArray) -> pa.Array:
    new, old = (exact(values.combine_chunks()) for values in (new, old))
    either = np.asarray(pc.xor(pc.is_null(new), pc.is_null(old)))
    other = np.asarray(pc.fill_null(pc.not_equal(new, old), False))
    return pa.array(either | other)


def _images(changes: pa.Table, task: StageTask, plan: RowPlan) -> NetRows:
    """Return the net change of a table without a key."""
    try:
        rows = net_images(changes, [column.name for column in plan.columns])
    except OldRowMissing:
        raise RowsRefused(
            "an update or delete of a table without a key came without the old row",
            code="INT-111",
            table=task.target_name,
            hint=task.whole_rows + THEN,
        ) from None
    copies = rows["copies"]
    went = rows.filter(pc.less(copies, 0))
    went = went.set_column(went.num_columns - 1, "copies", pc.negate(went["copies"]))
    return NetRows(NOTHING, NOTHING, NOTHING, NOTHING, went, rows.filter(pc.greater(copies, 0)))
