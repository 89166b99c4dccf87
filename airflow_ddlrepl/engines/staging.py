"""This module stages the rows of tasks in any process: the core makes them ready, the target's engine stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from airflow_ddlrepl.engines import engine, of_targets
from airflow_ddlrepl.errors import identified
from airflow_ddlrepl.integrate.pipeline import Pipeline
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.stage_task import StageTask, most_buckets, rows_in_memory
from airflow_ddlrepl.ports.row_evaluator import RowEvaluator

ROWS_PER_BUCKET = 100_000
MORE_ROWS_PER_BUCKET = 500_000
FEW = 8
"""So many buckets are worth it for ROWS_PER_BUCKET each: every bucket's task reads all rows, a fifth of its work."""


class StagedRows(Protocol):
    """Staged rows are what a stager returns of one task: a picklable value of the engine, which its `apply` takes."""

    @property
    def left_out(self) -> LeftOut:
        """Return what the target does not take of the changes."""
        return LeftOut()


class Stager(Protocol):
    """A stager answers questions about the rows of tasks, and stores those that are ready until they are merged.

    Its tasks are of one target and may share a session. A task may run twice: what it stored before is replaced.
    """

    def evaluator(self, task: StageTask) -> RowEvaluator:
        """Return what answers questions about the rows of a task; by default none that only a server can answer."""
        return RowEvaluator(task.values)

    def store(self, ready: ReadyRows) -> StagedRows:
        """Store the rows of a task where nobody sees them. Raises RowsRefused INT-120, UnreadableRows INT-105."""
        ...


def stage_all(tasks: Sequence[StageTask]) -> list[StagedRows]:
    """Stage several tasks of one target in this process; return for each what the target's `apply` takes.

    Raises TargetError INT-… where the target can't take rows, TrailError for damaged files.
    """
    of_target = of_targets(tasks[0].dsn)
    pipeline = Pipeline(tasks[0], of_target.types)
    found: list[StagedRows] = []
    with of_target.stager(tasks[0]) as stager:
        for task in tasks:
            with identified({str(task.target_name): task.table.id}):
                found.append(stager.store(pipeline.ready(task, stager.evaluator(task))))
    return found


def bucket_count(task: StageTask, tasks: int) -> int:
    """Return into how many buckets the rows of a task are split: one for each worker that has enough to do with it.

    tasks: into so many at most.
    """
    most = most_buckets(task.table, task.files, tasks, engine(task.dsn).types)
    rows = rows_in_memory(task.files)
    return max(1, min(most, max(rows // MORE_ROWS_PER_BUCKET, min(rows // ROWS_PER_BUCKET, FEW))))
