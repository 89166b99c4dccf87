"""This module stages the rows of tasks by the engine of their target, in any process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.integrate.stage_task import ROWS_PER_BUCKET, StageTask, most_buckets, rows_in_memory


def stage_all(tasks: Sequence[StageTask]) -> list[Any]:
    """Stage several tasks of one target in this process; return for each what the target's `apply` takes.

    Raises TargetError INT-… where the target can't take rows, TrailError for damaged files.
    """
    return engine(tasks[0].dsn).stage(tasks)


def bucket_count(task: StageTask, parallelism: int) -> int:
    """Return into how many buckets it is worth splitting the rows of a task."""
    most = most_buckets(task.table, task.files, parallelism, engine(task.dsn).types)
    return max(1, min(most, rows_in_memory(task.files) * 2 // ROWS_PER_BUCKET))
