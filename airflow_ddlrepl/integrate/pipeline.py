"""This module is the pipeline by which captured changes become the rows that an engine merges into a table.

Each step is a function over the changes, in log order. Where only the target knows, a `RowEvaluator` asks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from airflow_ddlrepl.errors import RowsRefused, UnreadableRows
from airflow_ddlrepl.integrate.net_rows import net_rows
from airflow_ddlrepl.integrate.netting.net_changes import NO_ROWS
from airflow_ddlrepl.integrate.read_changes import StageReader
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.row_plan import RowPlan, likeness
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.change_values import with_change_values
from airflow_ddlrepl.integrate.steps.discard_rows import without_unfit
from airflow_ddlrepl.integrate.steps.ignored_kinds import without_ignored
from airflow_ddlrepl.integrate.steps.null_values import with_nulls
from airflow_ddlrepl.integrate.steps.old_rows import require_old_rows
from airflow_ddlrepl.integrate.steps.restrict import restrict
from airflow_ddlrepl.integrate.steps.retained_rows import deletes_as_updates, one_row_each
from airflow_ddlrepl.integrate.steps.transform import transformed
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.ports.row_evaluator import RowEvaluator
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.trail.store import Trail


@dataclass(frozen=True, slots=True)
class Work:
    """Work is what every step of one task's pipeline may look at; what it leaves out it writes into `left_out`."""

    task: StageTask
    plan: RowPlan
    trail: Trail
    evaluator: RowEvaluator
    left_out: LeftOut = field(default_factory=LeftOut)


Step = Callable[[Work, pa.Table], pa.Table]


class Pipeline:
    """A pipeline takes the tasks of one target through all steps; tasks with the same plan share it.

    types: of the target.
    """

    def __init__(self, task: StageTask, types: TypeSystem) -> None:
        self._trail = Trail(task.trail_url, task.channel)
        self._types = types
        self._plans: dict[tuple[object, ...], RowPlan] = {}

    def ready(self, task: StageTask, evaluator: RowEvaluator) -> ReadyRows:
        """Return the rows of a task, ready to be merged.

        Raises RowsRefused INT-103 (key not in the target), INT-111 and INT-112 (an old row is missing), INT-113 and
        INT-114 (conditions and functions), INT-115, INT-133, what the evaluator raises, UnreadableRows INT-107,
        TrailError for damaged files.
        """
        work = Work(task, self._plan(task), self._trail, evaluator)
        plan = work.plan
        changes = StageReader(task, plan).read(self._trail)
        read = changes.num_rows
        for step in STEPS:
            if not changes.num_rows:
                return ReadyRows(task, plan, NO_ROWS, read, work.left_out)
            changes = step(work, changes)
        return ReadyRows(task, plan, net_rows(changes, task, plan, evaluator), read, work.left_out)

    def _plan(self, task: StageTask) -> RowPlan:
        like = likeness(task)
        if like not in self._plans:
            self._plans[like] = RowPlan(task, self._types)
        return self._plans[like]


def _take_kinds(work: Work, changes: pa.Table) -> pa.Table:
    """Leave out the kinds of changes that the target does not take (`ignore`)."""
    changes, work.left_out.ignored = without_ignored(changes, work.task.ignored)
    return changes


def _take_rows(work: Work, changes: pa.Table) -> pa.Table:
    """Leave the changes of rows that the target takes (`restrict`); a row that leaves them is a delete."""
    task, plan = work.task, work.plan
    if plan.condition is None:
        return changes
    left = restrict(work.evaluator, changes, plan.condition, task.logged, plan.encodings, task.whole_rows)
    left, _ = without_ignored(left, task.ignored & {RowKind.DELETE})
    work.left_out.outside = changes.num_rows - left.num_rows
    return left


def _transform(work: Work, changes: pa.Table) -> pa.Table:
    """Replace values by those that a function computes (`transform`)."""
    task, plan = work.task, work.plan
    if plan.transform is None:
        return changes
    of, hint = task.logged, task.whole_rows
    return transformed(
        work.evaluator, changes, plan.transform, of, plan.encodings, hint, has_old_rows=plan.needs_old_rows
    )


def _fit(work: Work, changes: pa.Table) -> pa.Table:
    """Make values NULL that the target's columns can't hold, or leave out their rows (`coerce_error_policy`)."""
    task, plan = work.task, work.plan
    if not plan.unfit:
        return changes
    if not plan.discards:
        changes, work.left_out.nulled = with_nulls(work.evaluator, changes, plan.unfit, task.table, task.target_name)
        return changes
    require_old_rows(
        changes, task.table.name, "whose rows are discarded (`coerce_error_policy`)", plan.names, task.whole_rows
    )
    found = without_unfit(work.evaluator, changes, task.table, plan.of_source, plan.unfit, task.discarded)
    work.left_out.settled, work.left_out.discarded = found.settled, found.rows
    return found.changes


def _require(work: Work, changes: pa.Table) -> pa.Table:
    """Refuse rows without what the merge needs of them: the key, values that only the source computes, old rows.

    Only rows need them: those that a refresh already contains may have a key that the target has no more.
    """
    task, plan = work.task, work.plan
    if plan.missing_keys:
        raise RowsRefused(
            f"key columns are missing in the rows or the target: {', '.join(plan.missing_keys)}",
            code="INT-103",
            table=task.target_name,
            hint="refresh the table, or keep its key columns in the target",
        )
    if plan.uncomputed:
        raise UnreadableRows(
            f"the log has no values of {', '.join(plan.uncomputed)}, which only the source can compute",
            code="INT-107",
            table=task.target_name,
            hint="refresh the table; from version 18 on `ddlrepl activate` lets the log contain stored ones",
        )
    reasons = {
        "with a key of its own (`key`)": bool(task.own.key),
        "whose conflicts are looked for (`conflicts`)": task.conflicts is not None,
        "some rows of which may be missing at the target": task.is_resilient,
        "with a row per change (`time_key`)": plan.is_history,
    }
    if why := next((why for why, is_so in reasons.items() if is_so), ""):
        require_old_rows(changes, task.table.name, why, plan.names, task.whole_rows)
    return changes


def _retain_changes(work: Work, changes: pa.Table) -> pa.Table:
    """Make each change a row of its own in a table that is a history (`time_key`)."""
    plan = work.plan
    if not plan.is_history:
        return changes
    names, key = [column.name for column in plan.of_source], [key.name for key in plan.key]
    return one_row_each(changes, names, key)


def _set_change_columns(work: Work, changes: pa.Table) -> pa.Table:
    """Add the values that columns of the target's own take of the changes."""
    files = work.task.transactions
    return with_change_values(changes, work.plan.of_change, lambda: work.trail.transactions_in(files))


def _mark_deleted(work: Work, changes: pa.Table) -> pa.Table:
    """Make deletes updates that mark the row (`soft_delete`)."""
    plan = work.plan
    return deletes_as_updates(changes, plan.names, [key.name for key in plan.key]) if plan.deletion else changes


STEPS: tuple[Step, ...] = (
    _take_kinds,
    _take_rows,
    _transform,
    _fit,
    _require,
    _retain_changes,
    _set_change_columns,
    _mark_deleted,
)
"""The steps in their order; after them the changes are netted. No step is called without changes."""
