"""A stage may run for one client of Streams alone; how the others have ended before it holds until they run again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_ddlrepl.flow.health.failures import each_failure
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.stages import PROPAGATE
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd
from airflow_ddlrepl.streams.rules.client import ClientKind


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
