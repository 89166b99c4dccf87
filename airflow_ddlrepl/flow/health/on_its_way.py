"""What is on its way to a table: captured schema changes that its targets do not have, and loads that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from airflow_ddlrepl.config.sections.location import short_text
from airflow_ddlrepl.flow.health.facts import Facts
from airflow_ddlrepl.flow.health.shape_changes import changes_between
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.flow.health.waits_for_a_person import queued_json
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import PlanRow
from airflow_ddlrepl.repository.stored.rows import ControlRow, RefreshRow

MOST_ERRORS, OF_THE_NEWEST, MOST_ROWS = 20, 1000, 200
LATER = "the next cycle brings it"
RETRIED = "the next cycle tries it again"


def on_its_way(
    repository: Repository, channel: str, table_id: int, now: datetime, fingerprint: str | None = None
) -> list[dict[str, Any]]:
    """Return what each target does not have yet of a table's changes, in the order in which it comes.

    how: load (all of its rows are read again, and `what` says why), change (`statement` of the source). then: what has
    to happen first, or that the next cycle brings it. plan: what the target would do about it, as a run has planned it,
    and `outdated`, why that may be another plan now; None: no run has planned it. fingerprint: of the channel file now.
    """
    facts = Facts(channel, now, None, status=repository.stored_status(channel), ends=repository.stage_ends(channel))
    revisions = repository.revisions(channel, table_id)
    loads = [one for one in repository.refreshes(channel, state="pending") if one.table_id == table_id]
    plans, controls = repository.plans(channel, table_id), repository.controls(channel, removed=True)
    found: list[dict[str, Any]] = []
    for target, known in facts.content.get("targets", {}).items():
        at = facts.position(target)
        table = next((one for one in known["tables"] if one["table_id"] == table_id), None)
        own = [one for one in loads if one.target == target]
        wait = facts.wait(target)
        then = f"a cycle after {wait['until']} brings it (apply_every)" if wait is not None else LATER
        found += [_coming("load", target, one.requested_at, one.reason, LATER) for one in own]
        if at is None:
            continue
        since = Position.parse((table or {}).get("lacks_from") or at)
        here = [one for one in controls if one.target == target]
        planned = {one.key: one for one in plans if one.target == target and one.key.lsn >= since}
        places = (since, Position.parse(at))
        shown = {key: _plan(one, _outdated(one, places, here, own, fingerprint)) for key, one in planned.items()}
        waits = [one for one in here if one.removed is None]
        found += _changes(target, table, revisions, since, waits, shown, then)
    return found


def table_errors(repository: Repository, channel: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the newest errors about a table that are stored, equal ones once. names: those that it has, or had."""
    found = [one for one in repository.errors(channel, OF_THE_NEWEST) if one.table in names]
    newest = {(one.target, one.code, one.message): one for one in reversed(found)}  # a stage's is its cycle's, too
    of_it = sorted(newest.values(), key=lambda one: one.id, reverse=True)
    return [
        {
            "at": moment_text(one.created),
            "target": one.target or "",
            "run": one.run_id,
            "what": f"{one.code}: {one.message}",
            "hint": one.hint,
        }
        for one in of_it[:MOST_ERRORS]
    ]


def rows_in_error_queues(
    repository: Repository, channel: str, table_id: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return rows of a table that wait in the error queues of targets, as `queued_json` has them.

    names: those that the table has, or had, at the source.
    """
    row = repository.stored_status(channel)
    targets = ((row.content if row is not None else None) or {}).get("targets", {})
    there = {one["table"] for known in targets.values() for one in known["tables"] if one["table_id"] == table_id}
    rows = repository.queued_rows(channel, {*names, *there})
    return [queued_json(one) for one in rows if one.content["table_id"] in (None, table_id)][:MOST_ROWS]


def _changes(
    target: str,
    table: Mapping[str, Any] | None,
    revisions: Sequence[Revision],
    since: Position,
    controls: Sequence[ControlRow],
    plans: Mapping[LogKey, dict[str, Any]],
    then: str,
) -> Iterator[dict[str, Any]]:
    """Yield the changes at a position or later; one before which the target waits says for what.

    A table that the target does not have has those that a run has planned. plans: by place in the log. then: what has
    to happen first.
    """
    if table is not None and table["state"] == "suspended":
        then = RETRIED
    made = {one.key: (before, one) for before, one in pairwise((None, *revisions)) if one is not None}
    late = {key for key, (before, _) in made.items() if table is not None and before is not None and key.lsn >= since}
    for key in sorted(late | plans.keys()):
        held = next((c for c in controls if c.key.lsn == key.lsn), None)
        if held is not None:
            then = f"control {held.id} is removed: {held.reason} ({held.policy})"
        before, one = made.get(key, (None, None))
        plan = plans.get(key)
        changes = changes_between(before.table if before else None, one.table) if one is not None else []
        what = "; ".join(changes) or (plan or {}).get("what", "")
        statement = short_text(one.statement) if one is not None and one.statement else None
        yield _coming("change", target, Position(key.lsn), what, then, statement, plan)


def _plan(row: PlanRow, outdated: str) -> dict[str, Any]:
    """Return a plan as JSON, with the part of the log that it holds for, and why it may be another one now."""
    held = {"from": str(row.low), "to": str(row.high), "revision": row.revision, "run": row.run_id}
    return {**row.content, "planned": moment_text(row.planned), **held, "outdated": outdated}


def _outdated(
    row: PlanRow,
    places: Sequence[Position],
    controls: Sequence[ControlRow],
    loads: Sequence[RefreshRow],
    fingerprint: str | None,
) -> str:
    """Return why the plan may be another one now; empty: nothing that it depends on is known to have changed.

    places: where the table and its target are now. controls, loads: of the target, and of its table.
    """
    planned = row.planned
    if row.low not in places:
        return f"it was planned when the target was at {row.low}; it is at {places[0]} now"
    if planned is not None and (gone := next((c for c in controls if c.removed and c.removed >= planned), None)):
        return f"control {gone.id} has been removed since"
    if planned is not None and any(one.created >= planned for one in loads):
        return "a load of the table has been asked for since"
    return "the channel file has changed since" if fingerprint not in (None, row.fingerprint) else ""


def _coming(
    how: str,
    target: str,
    at: Position,
    what: str,
    then: str,
    statement: str | None = None,
    plan: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what comes to a target, as JSON."""
    place = {"how": how, "target": target, "at": str(at)}
    return {**place, "what": what, "statement": statement, "then": then, "plan": plan}
