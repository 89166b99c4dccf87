"""After every run of a stage, whatever its end, the channel's status is stored for those who look at it later."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.status import Status, status
from airflow_ddlrepl.flow.reporting.progress import brings_more_than_rows, lag_after, progress_of
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.repository.rows import Outcome, StageEnd, StatusRow

COSTS_AT_MOST = 0.05
"""A status after a run that went well takes at most this part of the time; how the run ended is always stored."""
OF_A_CYCLE = frozenset(
    ("capture", "adapt", "refresh", "integrate", "replicate", "sync_capture", "propagate", "apply", "isolate")
)


def keep_status(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> None:
    """Store how a stage ended, how far targets are, and the channel's status, where that is not too dear now.

    Nothing of it fails the run. result: what the stage did, as JSON.
    """
    try:
        end = replace(end, progress=progress_of(end.stage, result))
        run.repository.set_stage_end(run.channel.name, end)
        found = _take(run, end) if _is_due(run, end, result) else None
        if rows := lag_after(run, end, found):
            run.repository.add_lag(run.channel.name, rows)
    except Exception as error:  # noqa: BLE001 - whatever it is, the stage's own end is what counts
        log.warning("the status of channel %s is not stored: %s", run.channel.name, redact(str(error)))


def keep_found(run: RunContext, stage: str, found: Status, seconds: float) -> None:
    """Store a status that somebody has just asked for."""
    row = StatusRow(datetime.now(UTC), run.run_id, stage, seconds, None, found.to_json())
    run.repository.set_status(run.channel.name, row)


def _is_due(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> bool:
    """Is a whole status worth its time now? Always after a failure, and when more than rows has come."""
    last = run.repository.last_status_cost(run.channel.name)
    if last is None or end.outcome is Outcome.FAILED or end.stage not in OF_A_CYCLE:
        return True
    if end.outcome is Outcome.DONE and brings_more_than_rows(result):
        return True
    taken, seconds = last
    return (end.ended - taken).total_seconds() * COSTS_AT_MOST >= seconds


def _take(run: RunContext, end: StageEnd) -> Status | None:
    started = time.monotonic()
    try:
        found = status(run)
    except DdlReplError as error:
        reason = redact(f"{error.code}: {error.message_with_names}")
        seconds = time.monotonic() - started
        row = StatusRow(datetime.now(UTC), run.run_id, end.stage, seconds, reason, None)
        run.repository.set_status(run.channel.name, row)
        return None
    keep_found(run, end.stage, found, time.monotonic() - started)
    return found
