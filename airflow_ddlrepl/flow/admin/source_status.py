"""The status of a source says what is not as the channel has set it up there, and where records may be missing."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.flow.admin.trail_status import held_lines, held_log
from airflow_ddlrepl.flow.capture.file_changes import HINT
from airflow_ddlrepl.flow.capture.session_names import session_problems
from airflow_ddlrepl.flow.capture.source_marks import REFUSALS, mark_state
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.limits import reached
from airflow_ddlrepl.flow.run.source_records import last_record, problems
from airflow_ddlrepl.model.installation import Problem


def source_status(run: RunContext) -> dict[str, Any]:
    """Return problems of the source, each with what mends it, and the last gaps in the records of schema changes.

    unpublished: tables that the channel file names since activation, and whose rows are in no log yet.
    """
    members = run.source.membership
    found = [
        *problems(run, members.installation()),
        *members.refused_statements(),
        *_file_problems(run),
        *_trigger_problems(run),
        *session_problems(run),
    ]
    lost = members.unpublished() if members.changed_keys() else []
    told = [f"{one.what}; {one.fix}" for one in found]
    return {
        "problems": told + _put_back(run),
        "gaps": list(last_record(run).gaps),
        "unpublished": list(map(str, lost)),
        "held": held_log(run),
        "limits": [str(one) for one in reached(run)],
    }


def _trigger_problems(run: RunContext) -> list[Problem]:
    """Return what triggers of Streams have not captured; a channel without clients imports nothing for it."""
    if run.channel.clients.is_empty:
        return []
    from airflow_ddlrepl.flow.streams.uncaptured_rows import trigger_problems

    return trigger_problems(run)


def _put_back(run: RunContext) -> list[str]:
    """Return the error of a source or repository that was put back to an older copy, as a list of at most one."""
    refusal = REFUSALS.get(mark_state(run)) if run.is_active() else None
    return [f"{refusal.code}: {refusal.what}; {refusal.hint}"] if refusal else []


def source_lines(status: dict[str, Any]) -> list[str]:
    """Return the status of a source as lines for people."""
    return [
        *(f"source: {problem}" for problem in status.get("problems", ())),
        *(f"source, gap {gap}" for gap in status.get("gaps", ())),
        *held_lines(status.get("held", ()), status.get("limits", ())),
    ]


def unknown_to_source(run: RunContext) -> list[Problem]:
    """Return the problems of a source that it can't tell by itself: the repository and the channel file can."""
    now = run.source.membership.installation()
    known = [one for one in problems(run, now) if one not in now.problems]
    known += [*_file_problems(run), *_trigger_problems(run), *session_problems(run)]
    return [*known, *(Problem(*what.split("; ", 1)) for what in _put_back(run))]


def _file_problems(run: RunContext) -> list[Problem]:
    """Return what of the channel file does nothing yet, as the source has another one, from its activation."""
    members = run.source.membership
    keys = members.changed_keys()
    if not keys:
        return []
    lost = ", ".join(map(str, members.unpublished()))
    what = f"the channel file has changed since activation, and does nothing yet: {', '.join(keys)}"
    return [Problem(f"{what}{f'; rows of {lost} are in no log' if lost else ''}", HINT)]
