"""Changes of sessions that are to be ignored are known by triggers, which somebody may switch off, be it for a while.

A table whose changes may lack the names of its sessions is suspended: nobody can tell which of them were to be ignored.
"""

from __future__ import annotations

from airflow_ddlrepl.capture.feed_changes import unnamed
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.source_records import last_record
from airflow_ddlrepl.model.installation import Problem, SessionNames

OFF = "the trigger of {} that names the sessions to ignore was switched off, dropped or changed"
HINT = "its changes may be those of ignored sessions: `ddlrepl refresh CHANNEL.yaml --table {}` loads it as it is"


def name_sessions(run: RunContext) -> frozenset[int]:
    """Make triggers again that are missing or were changed; return the tables that were without since the last look."""
    members = run.source.membership
    found = unnamed(last_record(run).sessions, members.session_names())
    for name in members.without_session_names(found):
        log.warning(
            "%s has no trigger that names the sessions to ignore: all its changes are captured. `ddlrepl activate` as"
            " its owner or a superuser makes one",
            name,
        )
    return found


def named_sessions(run: RunContext, since: SessionNames | None) -> tuple[SessionNames | None, frozenset[int]]:
    """Return the triggers where a capture ends, and the tables without one, or with another one since a look."""
    now = run.source.membership.session_names()
    return now, _without(now) | unnamed(since, now)


def session_problems(run: RunContext) -> list[Problem]:
    """Return the tables whose changes may lack the names of ignored sessions, since the last capture or for longer."""
    known, now = last_record(run).sessions, run.source.membership.session_names()
    tables = {i: r.table.name for i, r in run.repository.latest_revisions(run.channel.name).items() if r.table}
    names = [tables[i] for i in sorted(_without(now) | unnamed(known, now)) if i in tables]
    return [Problem(OFF.format(name), f"-- {HINT.format(name)}") for name in names]


def _without(now: SessionNames | None) -> frozenset[int]:
    """Return the tables that have no such trigger."""
    return frozenset(i for i, version in now.versions.items() if not version) if now else frozenset()
