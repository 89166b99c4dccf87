"""The flow of a channel is: capture the log into the trail, adapt the targets, refresh what must be loaded, integrate.

with open_channel("shop.yml", runner) as cycle:
    replicate(cycle)

A function is imported when it is first asked for: a command takes few of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.repository.stored.health_rows import StageEnd

if TYPE_CHECKING:
    from airflow_ddlrepl.flow import by_arguments
    from airflow_ddlrepl.flow.admin.activate import activate, deactivate
    from airflow_ddlrepl.flow.admin.activate_clients import unsupported
    from airflow_ddlrepl.flow.admin.controls import held_controls, remove_seen
    from airflow_ddlrepl.flow.admin.discarded import discarded_rows
    from airflow_ddlrepl.flow.admin.isolated_refresh import has_isolated, refresh_isolated
    from airflow_ddlrepl.flow.admin.plan import plan
    from airflow_ddlrepl.flow.admin.roll_back import roll_back
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
    from airflow_ddlrepl.flow.reporting.last_status import last_status
    from airflow_ddlrepl.flow.rewind.rewind import plan_rewind, rewind
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

PLACES = {
    "activate": "admin.activate:activate",
    "adapt": "apply.advance:adapt",
    "apply": "streams.apply_process.apply:apply",
    "apply_queues": "cycle.run_clients:apply_queues",
    "by_arguments": "by_arguments",
    "capture": "capture.capture:capture",
    "check_cut_over": "cutover.check:check",
    "compare": "comparing.compare:compare",
    "cut_over": "cutover.cut_over:cut_over",
    "deactivate": "admin.activate:deactivate",
    "delete_error": "streams.apply_process.apply_errors:delete_error",
    "discarded_rows": "admin.discarded:discarded_rows",
    "do_here": "look:do_here",
    "file_error": "capture.file_changes:file_error",
    "give_up": "admin.suspended:give_up",
    "has_isolated": "admin.isolated_refresh:has_isolated",
    "has_lcrs": "streams.apply_process.apply:has_lcrs",
    "has_work": "look:has_work",
    "held_controls": "admin.controls:held_controls",
    "instantiate": "streams.instantiation.instantiate:instantiate",
    "integrate": "apply.integrate:integrate",
    "last_status": "reporting.last_status:last_status",
    "lost_error": "capture.left_out:lost_error",
    "new_events": "reporting.asset_events:new_events",
    "plan": "admin.plan:plan",
    "plan_rewind": "rewind.rewind:plan_rewind",
    "propagate": "streams.propagation:propagate",
    "queued_errors": "streams.apply_process.apply_errors:queued_errors",
    "refresh": "refresh.refresh:refresh",
    "refresh_isolated": "admin.isolated_refresh:refresh_isolated",
    "remove_seen": "admin.controls:remove_seen",
    "reopen": "cutover.cut_over:reopen",
    "repair": "comparing.repair:repair",
    "replicate": "cycle.replicate:replicate",
    "retry": "admin.suspended:retry",
    "retry_errors": "streams.apply_process.apply_errors:retry_errors",
    "rewind": "rewind.rewind:rewind",
    "roll_back": "admin.roll_back:roll_back",
    "show_error": "streams.apply_process.apply_errors:show_error",
    "status": "admin.status:status",
    "sync_capture": "streams.sync_capture:sync_capture",
    "undecodable_error": "capture.left_out:undecodable_error",
    "unsupported": "admin.activate_clients:unsupported",
    "wait_for_turn": "run.turn:wait_for_turn",
}
"""Where each name is, as a type checker reads it above: `module:name`, or a module, below this package."""


class _Flow(ModuleType):
    """A name of this package is the function's, also where a folder is called like it."""

    def __getattr__(self, name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        place, _, found = PLACES[name].partition(":")
        module = import_module(f"{__name__}.{place}")
        setattr(self, name, getattr(module, found) if found else module)
        return self.__dict__[name]

    def __setattr__(self, name: str, value: object) -> None:
        if ":" not in PLACES.get(name, "") or not isinstance(value, ModuleType):  # whoever imports a folder names it
            super().__setattr__(name, value)


def _keep_status(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> None:
    from airflow_ddlrepl.flow.reporting.keep_status import keep_status

    keep_status(run, end, result)


sys.modules[__name__].__class__ = _Flow
RunContext.stage_ended = _keep_status


def open_channel(path: str | Path, runner: Runner, run_id: str = "") -> RunContext:
    """Return the channel of a file, ready for work; `with` closes it. runner: who runs the tasks."""
    from airflow_ddlrepl.config.file.load import load_channel

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
    "roll_back",
    "show_error",
    "status",
    "sync_capture",
    "undecodable_error",
    "unsupported",
    "wait_for_turn",
]
