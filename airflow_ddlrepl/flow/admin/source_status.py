"""The status of a source says what is not as the channel has set it up there, and where records may be missing."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.flow.capture.source_changes import last_record, problems
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.installation import Problem


def source_status(run: RunContext) -> dict[str, Any]:
    """Return problems of the source, each with what mends it, and the last gaps in the records of schema changes."""
    found = [*problems(run, run.source.membership.installation()), *run.source.membership.refused_statements()]
    return {"problems": [f"{one.what}; {one.fix}" for one in found], "gaps": list(last_record(run).gaps)}


def source_lines(status: dict[str, Any]) -> list[str]:
    """Return the status of a source as lines for people."""
    return [
        *(f"source: {problem}" for problem in status.get("problems", ())),
        *(f"source, gap {gap}" for gap in status.get("gaps", ())),
    ]


def unknown_to_source(run: RunContext) -> list[Problem]:
    """Return the problems of a source that it can't tell by itself: only the repository knows how it was."""
    now = run.source.membership.installation()
    return [one for one in problems(run, now) if one not in now.problems]
