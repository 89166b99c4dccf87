"""Before a task starts an app for a stage it is looked how much there is to do; what needs no app is done here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.pipelines import require_stage
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.fencing import require_not_cut_over
from airflow_ddlrepl.flow.stages import STAGES, Stage
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd
from airflow_ddlrepl.repository.stored.rows import RunStatus


class Work(Enum):
    """This is how much there is to do for a stage."""

    NONE = "none"
    SMALL = "small"
    """It needs no tasks: a target to move past log without rows, or something to report."""
    TASKS = "tasks"


def has_work(channel: Channel, stage: str, run_id: str = "") -> bool:
    """Is there anything to do for a stage? Cheap: no Spark, no rows read, and nothing is done. run_id: of its run.

    Raises CannotCutOver CUT-101 when the channel is cut over.
    """
    with _looking(channel, stage, run_id) as run:
        return work_for(run, STAGES[stage]) is not Work.NONE


def do_here(channel: Channel, stage: str, run_id: str = "", of: str = "") -> bool:
    """Do what a stage has to do that needs no tasks; return whether there is work for tasks, which is left to do.

    So a target that does not answer is reported, and a stage which had failed shows that it is well now. A stage with
    nothing to do records that it was looked. of: the client of Streams, or its target, that the run is about alone.
    Raises CannotCutOver CUT-101 when the channel is cut over.
    """
    with _looking(channel, stage, run_id) as run:
        began = datetime.now(UTC)
        found = work_for(run, STAGES[stage], of)
        if found is Work.SMALL:
            STAGES[stage].function(run, **({STAGES[stage].part: of} if of else {}))
        elif found is Work.NONE:
            run.stage_ended(StageEnd(stage, run.run_id, began, datetime.now(UTC), Outcome.IDLE), {})
        return found is Work.TASKS


def work_for(run: RunContext, stage: Stage, of: str = "") -> Work:
    """Return how much there is to do for a stage, as far as this run sees it. of: as `do_here` has it."""
    try:
        if stage.looks(run, of):
            return Work.TASKS
    except TrailError:
        return Work.TASKS  # the stage mends the trail, or says why it can't
    is_small = bool(run.targets.failed) or stage.looks_for_small_work(run) or _has_failed(run)
    return Work.SMALL if is_small else Work.NONE


@contextmanager
def _looking(channel: Channel, stage: str, run_id: str) -> Iterator[RunContext]:
    """Open the channel to look at what a stage has to do."""
    with RunContext(channel, InProcess(), run_id or f"look-{int(time.time())}") as run:
        run.stage, run.comes_again = stage, True
        require_stage(channel, STAGES[stage])
        require_not_cut_over(run)
        yield run


def _has_failed(run: RunContext) -> bool:
    """Did the stage fail when this run came to it before?"""
    rows = run.repository.runs(run.channel.name, run.run_id)
    return any(row.stage == run.stage and row.status is RunStatus.FAILED for row in rows)
