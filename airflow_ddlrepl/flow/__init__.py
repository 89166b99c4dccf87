"""The flow of a channel is: capture the log into the trail, adapt the targets, refresh what must be loaded, integrate.

with open_channel("shop.yml", runner) as cycle:
    replicate(cycle)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.admin.activate import activate, deactivate
from airflow_ddlrepl.flow.admin.activate_clients import unsupported
from airflow_ddlrepl.flow.admin.controls import held_controls, remove_seen
from airflow_ddlrepl.flow.admin.discarded import discarded_rows
from airflow_ddlrepl.flow.admin.isolated_refresh import has_isolated, refresh_isolated
from airflow_ddlrepl.flow.admin.plan import plan
from airflow_ddlrepl.flow.admin.status import status
from airflow_ddlrepl.flow.admin.suspended import give_up, retry
from airflow_ddlrepl.flow.apply.advance import adapt, has_changes
from airflow_ddlrepl.flow.apply.integrate import has_rows, integrate
from airflow_ddlrepl.flow.capture.capture import capture, has_new_log
from airflow_ddlrepl.flow.capture.file_changes import file_error
from airflow_ddlrepl.flow.capture.left_out import lost_error, undecodable_error
from airflow_ddlrepl.flow.comparing.compare import compare
from airflow_ddlrepl.flow.comparing.repair import repair
from airflow_ddlrepl.flow.cutover.check import check as check_cut_over
from airflow_ddlrepl.flow.cutover.cut_over import cut_over, reopen
from airflow_ddlrepl.flow.cycle.replicate import replicate
from airflow_ddlrepl.flow.cycle.run_clients import apply_queues, has_queued
from airflow_ddlrepl.flow.refresh.refresh import has_loads, refresh
from airflow_ddlrepl.flow.reporting.asset_events import news
from airflow_ddlrepl.flow.reporting.keep_status import keep_status
from airflow_ddlrepl.flow.reporting.last_status import last_status
from airflow_ddlrepl.flow.rewind.rewind import plan_rewind, rewind
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.fencing import require_not_cut_over
from airflow_ddlrepl.flow.run.turn import wait_for_turn
from airflow_ddlrepl.flow.streams.apply_process.apply import apply, has_lcrs
from airflow_ddlrepl.flow.streams.apply_process.apply_errors import (
    delete_error,
    queued_errors,
    retry_errors,
    show_error,
)
from airflow_ddlrepl.flow.streams.instantiation.instantiate import instantiate
from airflow_ddlrepl.flow.streams.propagation import has_messages, propagate
from airflow_ddlrepl.flow.streams.sync_capture import has_sync_captures, sync_capture
from airflow_ddlrepl.ports.work import InProcess, Runner
from airflow_ddlrepl.repository.rows import Outcome, RunStatus, StageEnd

HAS_WORK = {
    "capture": has_new_log,
    "adapt": has_changes,
    "refresh": has_loads,
    "refresh_isolated": has_isolated,
    "integrate": has_rows,
    "sync_capture": has_sync_captures,
    "propagate": has_messages,
    "apply": has_queued,
}
STAGES: dict[str, Callable[[RunContext], Any]] = {
    "capture": capture,
    "adapt": adapt,
    "refresh": refresh,
    "refresh_isolated": refresh_isolated,
    "integrate": integrate,
    "sync_capture": sync_capture,
    "propagate": propagate,
    "apply": apply_queues,
}
RunContext.stage_ended = keep_status


def open_channel(path: str | Path, runner: Runner, run_id: str = "") -> RunContext:
    """Return the channel of a file, ready for work; `with` closes it. runner: who runs the tasks."""
    return RunContext(load_channel(Path(path)), runner, run_id)


def has_work(channel: Channel, stage: str, run_id: str = "") -> bool:
    """Is there anything to do for a stage? Cheap: no Spark, no rows read. stage: capture, adapt, refresh, integrate.
    run_id: of the run that the stage is part of. Where there is nothing to do but to report that a target does not
    answer, or that a stage which had failed is well now, the stage is run here. Raises CannotCutOver CUT-101 when the
    channel is cut over.
    """
    with RunContext(channel, InProcess(), run_id or f"look-{int(time.time())}") as run:
        run.stage, run.comes_again, began = stage, True, datetime.now(UTC)
        require_not_cut_over(run)
        try:
            if HAS_WORK[stage](run):
                return True
        except TrailError:
            return True  # the stage mends the trail, or says why it can't
        if run.targets.failed or (run_id and _has_failed(run)):
            STAGES[stage](run)
        else:
            run.stage_ended(StageEnd(stage, run.run_id, began, datetime.now(UTC), Outcome.IDLE), {})
        return False


def _has_failed(run: RunContext) -> bool:
    """Did the stage fail when this run came to it before?"""
    rows = run.repository.runs(run.channel.name, run.run_id)
    return any(row.stage == run.stage and row.status is RunStatus.FAILED for row in rows)


__all__ = [
    "RunContext",
    "activate",
    "adapt",
    "apply",
    "apply_queues",
    "capture",
    "check_cut_over",
    "compare",
    "cut_over",
    "deactivate",
    "delete_error",
    "discarded_rows",
    "file_error",
    "give_up",
    "has_isolated",
    "has_lcrs",
    "has_work",
    "held_controls",
    "instantiate",
    "integrate",
    "last_status",
    "lost_error",
    "news",
    "open_channel",
    "plan",
    "plan_rewind",
    "propagate",
    "queued_errors",
    "refresh",
    "refresh_isolated",
    "remove_seen",
    "reopen",
    "repair",
    "replicate",
    "retry",
    "retry_errors",
    "rewind",
    "show_error",
    "status",
    "sync_capture",
    "undecodable_error",
    "unsupported",
    "wait_for_turn",
]
