"""A failure is open until a later run shows that what failed works again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.errors.carried import is_kind
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.flow.stages import REPLICATE, Cycle, names_of
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd

OF_THE_CHANNEL = names_of(Cycle.BEFORE, Cycle.BEGINS, Cycle.WITHIN, Cycle.ENDS, Cycle.WHOLE)
"""A failure of another stage, such as a rewind, says nothing of how the channel follows its source."""


def open_failures(ends: Mapping[str, StageEnd]) -> list[StageEnd]:
    """Return the ends of stages that failed and that no later run has cured, newest first."""
    found = [one for one in ends.values() if one.stage in OF_THE_CHANNEL and one.outcome is Outcome.FAILED]
    still = [one for one in found if not any(_cures(other, one) for other in ends.values())]
    return sorted(still, key=lambda one: one.ended, reverse=True)


def each_failure(failure: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield a stored failure of a stage, and what else has failed there; nothing where it has not failed."""
    if failure is not None:
        yield failure
        for other in failure.get("others", ()):
            yield from each_failure(other)


def failures_json(ends: Mapping[str, StageEnd]) -> list[dict[str, Any]]:
    """Return the open failures as the status has them: stage, run, since when, and the error with its hint."""
    return [failure_json(one) for one in open_failures(ends)]


def failure_json(end: StageEnd) -> dict[str, Any]:
    """Return one failure as JSON."""
    when = {"failing_since": moment_text(end.failing_since), "ended": moment_text(end.ended)}
    return {"stage": end.stage, "run": end.run_id, **when, **(end.failure or {})}


def failure_lines(failures: Iterable[Mapping[str, Any]], known: Iterable[str] = ()) -> Iterator[str]:
    """Yield the failures of a status as lines for people. known: lines before, which may have the reason already."""
    for one in failures:
        is_known = any(f"{one['code']}: {one['message']}" in line for line in known)
        reason = f"{one['code']}, see above" if is_known else failure_text(one)
        yield f"{one['stage']} fails since {one['failing_since']}: {reason}"
        if one["hint"]:
            yield f"  hint: {one['hint']}"
        for other in one["others"]:
            yield f"  and {failure_text(other)}"


def is_a(failure: Mapping[str, Any] | None, *kinds: type[DdlReplError]) -> bool:
    """Is a stored failure an error of one of these classes?"""
    return failure is not None and is_kind(failure.get("kind", ""), *kinds)


def failure_text(failure: Mapping[str, Any]) -> str:
    """Return a failure's code and message, with the table that it is about and does not name."""
    table, text = failure.get("table"), f"{failure['code']}: {failure['message']}"
    names_table = not table or re.search(rf"(?<!\w){re.escape(table)}(?!\w)", text) is not None
    return text if names_table else f"{text} [table {table}]"


def _cures(later: StageEnd, failed: StageEnd) -> bool:
    """Does a later end of a stage show that what failed works again?"""
    if later.ended <= failed.ended or later.outcome is Outcome.FAILED:
        return False
    if later.stage == REPLICATE.name:
        return True
    return failed.stage in names_of(Cycle.WHOLE, Cycle.BEFORE) and later.stage in names_of(Cycle.ENDS)
