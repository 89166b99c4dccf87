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
from airflow_ddlrepl.flow.health.failures import each_failure
from airflow_ddlrepl.flow.health.what_waits import forget_what_all_have
from airflow_ddlrepl.flow.reporting.pending_plans import keep_plans
from airflow_ddlrepl.flow.reporting.progress import brings_more_than_rows, lag_after, progress_of
from airflow_ddlrepl.flow.reporting.queued_rows import keep_queued_rows
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.stages import INTEGRATE, PROPAGATE, Cycle, names_of
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd, StatusRow
from airflow_ddlrepl.streams.rules.client import ClientKind

COSTS_AT_MOST = 0.05
"""A status after a run that went well takes at most this part of the time; how the run ended is always stored."""
OF_A_CYCLE = names_of(Cycle.BEGINS, Cycle.WITHIN, Cycle.ENDS, Cycle.WHOLE, Cycle.ALONGSIDE)


def keep_status(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> None:
    """Store how a stage ended, how far targets are, and the channel's status, where that is not too dear now.

    Nothing of it fails the run. result: what the stage did, as JSON.
    """
    try:
        end = with_other_parts(run, replace(end, progress=progress_of(run, end, result)))
        if not _is_due(run, end, result):
            run.repository.set_stage_end(run.channel.name, end, lag_after(run, end, None))
            return
        run.repository.set_stage_end(run.channel.name, end)
        found = _stored(run, end.stage)
        if rows := lag_after(run, end, found):
            run.repository.add_lag(run.channel.name, rows)
    except Exception as error:  # noqa: BLE001 - whatever it is, the stage's own end is what counts
        log.warning("the status of channel %s is not stored: %s", run.channel.name, redact(str(error)))


def take_status(run: RunContext, stage: str) -> Status:
    """Return the status of now, and store it. Raises what `status` raises; that it is not stored is logged."""
    started = time.monotonic()
    found = status(run)
    try:
        _store(run, stage, started, found)
        _keep_lag_of_idle_cycle(run, found)
    except DdlReplError as error:
        log.warning("the status of channel %s is not stored: %s", run.channel.name, redact(str(error)))
    return found


def _keep_lag_of_idle_cycle(run: RunContext, found: Status) -> None:
    """Store how far targets are behind where a cycle's last stage had nothing to do, and so stored nothing of it."""
    end = run.repository.stage_ends(run.channel.name).get(INTEGRATE.name)
    if end is not None and end.outcome is Outcome.IDLE and end.run_id == run.run_id:
        run.repository.add_lag(run.channel.name, lag_after(run, end, found))


def _is_due(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> bool:
    """Is a whole status worth its time now? Always after a failure and its cure, and when more than rows has come."""
    last = run.repository.last_status_cost(run.channel.name)
    if last is None or end.outcome is Outcome.FAILED or end.stage not in OF_A_CYCLE:
        return True
    if end.outcome is Outcome.DONE and brings_more_than_rows(result):
        return True
    before = run.repository.stage_ends(run.channel.name).get(end.stage)
    if before is not None and before.outcome is Outcome.FAILED:
        return True  # what it says of tables that were suspended may be over
    taken, seconds = last
    return (end.ended - taken).total_seconds() * COSTS_AT_MOST >= seconds


def _stored(run: RunContext, stage: str) -> Status | None:
    """Return the status of now, and store it; where it can't be found, store why and return None."""
    started = time.monotonic()
    try:
        found = status(run)
    except DdlReplError as error:
        _store(run, stage, started, None, redact(f"{error.code}: {error.message_with_names}"))
        return None
    _store(run, stage, started, found)
    keep_plans(run, found.targets)
    keep_queued_rows(run, found.targets, found.apply)
    return found


def _store(run: RunContext, stage: str, started: float, found: Status | None, reason: str | None = None) -> None:
    """Store a status. started: when it was begun, by the monotonic clock. found: None: there is none, and why."""
    seconds = round(time.monotonic() - started, 3)
    content = found.to_json() if found is not None else None
    run.repository.set_status(
        run.channel.name, StatusRow(datetime.now(UTC), run.run_id, stage, seconds, reason, content)
    )
    if found is not None:
        forget_what_all_have(run.repository, run.channel.name, found.targets)


def with_other_parts(run: RunContext, end: StageEnd) -> StageEnd:
    """Return a stage's end with the failures of its other parts, which the run was not about and so has not cured.

    One whose client or target the channel file no longer has is over.
    """
    before = run.repository.stage_ends(run.channel.name).get(end.stage) if run.part else None
    if before is None or before.outcome is not Outcome.FAILED:
        return end
    there = set(_parts(run, end.stage))
    failed = ({**one, "others": []} for one in each_failure(before.failure))
    kept = [one for one in failed if _part_of(one) in there - {run.part}]
    if not kept:
        return end
    if end.failure is None:
        first, *others = kept
        return replace(end, outcome=Outcome.FAILED, failure={**first, "others": others})
    return replace(end, failure={**end.failure, "others": [*end.failure["others"], *kept]})


def _part_of(failure: dict[str, Any]) -> str:
    """Return which part of a stage has failed; empty: that is not known, so any part that works again cures it."""
    target = failure.get("target")
    return failure.get("client") or (f"target {target}" if target else "")


def _parts(run: RunContext, stage: str) -> list[str]:
    """Return the parts of a stage that the channel file has."""
    clients = StreamsClients(run)
    if stage == PROPAGATE.name:
        return [one.words for one in clients.of_kind(ClientKind.PROPAGATION)]
    return [one.part for one in clients.section.targets]
