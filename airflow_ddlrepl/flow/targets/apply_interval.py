"""A target with `apply_every` is applied to when its last apply is so long ago, or when much log waits for it.

Until then its part of the log stays in the trail, in log order: rows and schema changes alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_ddlrepl.config.sections.places import named_in_file
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.flow.run.context import RunContext, is_of_one_process
from airflow_ddlrepl.flow.run.outbox import has_unrecorded
from airflow_ddlrepl.flow.run.results import wait_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.repository.stored.rows import ApplyRow

NO_WAIT: Mapping[str, Any] = dict.fromkeys(("apply_every", "waits_since", "waits_until"))
"""What the status tells of a target that nobody can look at."""


@dataclass(frozen=True, slots=True)
class ApplyWait:
    """A target waits by `apply_every`: captured rows or schema changes are not applied there before `until`.

    since: when the last apply with changes began.
    """

    since: datetime
    until: datetime

    def to_json(self) -> dict[str, str]:
        """Return it as a part of a stage's result."""
        return {name: getattr(self, name).isoformat(timespec="seconds") for name in ("since", "until")}


def wait_status(run: RunContext, target: str) -> dict[str, Any]:
    """Return what the status of a target tells of `apply_every`: its seconds, and since and until when it waits."""
    wait, every = apply_wait(run, target), run.channel.target(target).apply_every or None
    found = wait.to_json() if wait is not None else {}
    return {"apply_every": every, "waits_since": found.get("since"), "waits_until": found.get("until")}


def wait_lines(found: Mapping[str, Any]) -> list[str]:
    """Return how the status prints that a target waits; nothing where it does not."""
    if not found.get("waits_until"):
        return []
    return ["  " + wait_text({"since": found["waits_since"], "until": found["waits_until"]})]


def apply_wait(run: RunContext, target: str) -> ApplyWait | None:
    """Return how long a target waits before the changes that it lacks are applied; None: it does not wait.

    A run that has begun to apply goes on. Targets that the channel file names as one wait together, at one position,
    and only while all of their tables follow the source: what needs a load, a person or another try is not put off.
    """
    every = run.channel.target(target).apply_every
    last = run.repository.last_apply(run.channel.name, named_in_file(target)) if every else None
    if last is None or run.targets.applies_now or _is_of_run(run, last.token):
        return None
    wait = ApplyWait(last.at, last.at + timedelta(seconds=every))
    if not last.at <= run.repository.clock() < wait.until:
        return None
    together = [one.name for one in run.channel.targets if named_in_file(one.name) == named_in_file(target)]
    states = [state for name in together if (state := run.target(name).find_state()) is not None]
    if len(states) < len(together) or len({one.lsn for one in states}) > 1 or not all(map(_follows, states)):
        return None
    if any(has_unrecorded(run, name) for name in together) or _has_control_since(run, together, last.at):
        return None
    low, captured = states[0].lsn, run.captured()
    size = run.positions.distance(low, captured)
    if size is None or size >= run.channel.capture.window_bytes:
        return None
    return wait if _has_changes(run, low, captured) else None


@contextmanager
def applying(run: RunContext, target: str) -> Iterator[None]:
    """Store when the apply of changes inside the `with` began, once they are at the target.

    Until then nobody knows when the last one was: what a run has left that was killed or failed waits for no time.
    """
    low = run.target(target).state().lsn if run.channel.target(target).apply_every else None
    if low is None or not _has_changes(run, low, run.captured()):
        yield
        return
    place, name = (run.channel.name, run.token), named_in_file(target)
    last, began = run.repository.last_apply(run.channel.name, name), run.repository.clock()
    run.repository.set_last_apply(*place, name, None)
    yield
    is_done = _has_changes(run, low, run.target(target).state().lsn)
    run.repository.set_last_apply(*place, name, ApplyRow(began, run.token) if is_done else last)


def follows(one: TableState) -> bool:
    """Does a table take the log's changes as they come, and wait neither for a load nor for another table?"""
    return one.state in (TableStatus.LIVE, TableStatus.ORPHANED) and not one.awaits_rows


def _follows(state: TargetState) -> bool:
    """Do all tables of a target follow the source, none of them ahead of the others by a load?"""
    snapshots = (one.snapshot for one in state.table_states.values() if one.snapshot is not None)
    return all(map(follows, state.table_states.values())) and all(one.high <= state.lsn for one in snapshots)


def _has_changes(run: RunContext, low: Position, high: Position) -> bool:
    """Are there captured rows, schema changes or the like between two positions?"""
    if low >= high:
        return False
    return any(one.rows or one.events for one in run.repository.segments(run.channel.name, low, high))


def _has_control_since(run: RunContext, targets: list[str], since: datetime) -> bool:
    """Does one of the targets stand before a control, or has a person removed one since a moment?"""
    controls = run.repository.controls(run.channel.name, removed=True)
    return any(one.target in targets and (one.removed is None or one.removed >= since) for one in controls)


def _is_of_run(run: RunContext, token: int) -> bool:
    """Has this run, or another stage of it in a process of its own, held the channel by this token?"""
    if token == run.token:
        return True
    if is_of_one_process(run):
        return False
    return any(one.token == token for one in run.repository.runs(run.channel.name, run.run_id))
