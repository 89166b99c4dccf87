"""What is on its way to a table: captured schema changes that its targets do not have, and loads that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.flow.health.facts import read_facts
from airflow_ddlrepl.flow.health.history import STATEMENT_LENGTH
from airflow_ddlrepl.flow.health.shape_changes import changes_between
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.rows import ControlRow, RefreshRow

MOST_ERRORS, OF_THE_NEWEST = 20, 1000
LATER = "the next cycle brings it"
RETRIED = "the next cycle tries it again"


def on_its_way(repository: Repository, channel: str, table_id: int, now: datetime) -> list[dict[str, Any]]:
    """Return what each target does not have yet of a table's changes, in the order in which it comes.

    how: load (all of its rows are read again, and `what` says why), change (`statement` of the source). then: what has
    to happen first, or that the next cycle brings it.
    """
    facts = read_facts(repository, channel, now)
    revisions = repository.revisions(channel, table_id)
    loads = [one for one in repository.refreshes(channel, state="pending") if one.table_id == table_id]
    found: list[dict[str, Any]] = []
    for target, known in facts.content.get("targets", {}).items():
        at = facts.position(target)
        table = next((one for one in known["tables"] if one["table_id"] == table_id), None)
        found += [_load(one) for one in loads if one.target == target]
        if at is not None and table is not None:
            since = Position.parse(table.get("lacks_from") or at)
            controls = [one for one in facts.controls if one.target == target]
            found += _changes(target, table, revisions, since, controls)
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


def _changes(
    target: str, table: Mapping[str, Any], revisions: Sequence[Revision], since: Position, controls: list[ControlRow]
) -> Iterator[dict[str, Any]]:
    """Yield the changes at a position or later; one before which the target waits says for what."""
    then = RETRIED if table["state"] == "suspended" else LATER
    for before, one in pairwise(revisions):
        at = Position(one.key.lsn)
        if at < since:
            continue
        held = next((c for c in controls if c.key.lsn == one.key.lsn), None)
        if held is not None:
            then = f"control {held.id} is removed: {held.reason} ({held.policy})"
        statement = redact(one.statement)[:STATEMENT_LENGTH] if one.statement else None
        what = "; ".join(changes_between(before.table, one.table))
        yield {"how": "change", "target": target, "at": str(at), "what": what, "statement": statement, "then": then}


def _load(one: RefreshRow) -> dict[str, Any]:
    what = {"how": "load", "target": one.target, "at": str(one.requested_at), "what": one.reason}
    return {**what, "statement": None, "then": LATER}
