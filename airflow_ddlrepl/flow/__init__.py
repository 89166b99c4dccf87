"""The flow of a channel is: capture the log into the trail, adapt the targets, refresh what must be loaded, integrate.

with open_channel("shop.yml", runner) as cycle:
    replicate(cycle)
"""

from __future__ import annotations

from pathlib import Path

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.flow import by_arguments
from airflow_ddlrepl.flow.admin.activate import activate, deactivate
from airflow_ddlrepl.flow.admin.activate_clients import unsupported
from airflow_ddlrepl.flow.admin.controls import held_controls, remove_seen
from airflow_ddlrepl.flow.admin.discarded import discarded_rows
from airflow_ddlrepl.flow.admin.isolated_refresh import has_isolated, refresh_isolated
from airflow_ddlrepl.flow.admin.plan import plan
from airflow_ddlrepl.flow.admin.status import status
from airflow_ddlrepl.flow.admin.suspended import give_up, retry
from airflow_ddlrepl.flow.apply.advance import adapt
from airflow_ddlrepl.flow.apply.integrate import integrate
from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.capture.file_changes import file_error
from airflow_ddlrepl.flow.capture.left_out import lost_error, undecodable_error
from airflow_ddlrepl.flow.comparing.compare import compare
from airflow_ddlrepl.flow.comparing.repair import repair
from airflow_ddlrepl.flow.cutover.check import check as check_cut_over
from airflow_ddlrepl.flow.cutover.cut_over import cut_over, reopen
from airflow_ddlrepl.flow.cycle.replicate import replicate
from airflow_ddlrepl.flow.cycle.run_clients import apply_queues
from airflow_ddlrepl.flow.look import do_here, has_work
from airflow_ddlrepl.flow.refresh.refresh import refresh
from airflow_ddlrepl.flow.reporting.asset_events import new_events
from airflow_ddlrepl.flow.reporting.keep_status import keep_status
from airflow_ddlrepl.flow.reporting.last_status import last_status
from airflow_ddlrepl.flow.rewind.rewind import plan_rewind, rewind
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.turn import wait_for_turn
from airflow_ddlrepl.flow.streams.apply_process.apply import apply, has_lcrs
from airflow_ddlrepl.flow.streams.apply_process.apply_errors import (
    delete_error,
    queued_errors,
    retry_errors,
    show_error,
)
from airflow_ddlrepl.flow.streams.instantiation.instantiate import instantiate
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.flow.streams.sync_capture import sync_capture
from airflow_ddlrepl.ports.work import Runner

RunContext.stage_ended = keep_status


def open_channel(path: str | Path, runner: Runner, run_id: str = "") -> RunContext:
    """Return the channel of a file, ready for work; `with` closes it. runner: who runs the tasks."""
    return RunContext(load_channel(Path(path)), runner, run_id)


__all__ = [
    "RunContext",
    "activate",
    "adapt",
    "apply",
    "apply_queues",
    "by_arguments",
    "capture",
    "check_cut_over",
    "compare",
    "cut_over",
    "deactivate",
    "delete_error",
    "discarded_rows",
    "do_here",
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
    "new_events",
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
