"""The newest schema changes of a channel's source, each once, with what became of it at each target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.flow.health.history import STATEMENT_LENGTH
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.rows import ControlRow, EventRow, LedgerRow

MOST, MOST_TABLES = 30, 100
Revisions = Mapping[int, list[Revision]]


def newest_changes(repository: Repository, channel: str, most: int = MOST) -> list[dict[str, Any]]:
    """Return the newest events of the source's log that are no rows: schema changes, truncates and gaps, newest first.

    At a target an entry has `how`: sql (a statement ran there), control (a person was asked, and who removed it).
    """
    events = repository.newest_events(channel, most)
    numbers = {number for event in events for number in event.table_ids}
    revisions = repository.revisions_of(channel, numbers) if numbers else {}
    steps = [step for number in sorted(numbers)[:MOST_TABLES] for step in repository.ledger(channel, table_id=number)]
    controls = repository.controls(channel, removed=True)
    return [_change(event, revisions, steps, controls) for event in events]


def _change(
    event: EventRow, revisions: Revisions, steps: list[LedgerRow], controls: list[ControlRow]
) -> dict[str, Any]:
    made = {
        table_id: one.number
        for table_id in event.table_ids
        for one in revisions.get(table_id, ())
        if one.key.lsn == event.key.lsn and one.key.seq == event.key.seq
    }
    return {
        "at": str(Position(event.key.lsn)),
        "committed": moment_text(event.committed),
        "kind": str(event.kind),
        "tag": event.tag,
        "statement": redact(event.statement)[:STATEMENT_LENGTH] if event.statement else None,
        "tables": [{"table_id": one, "table": _name(revisions.get(one, ()), event)} for one in event.table_ids],
        "targets": [*_at_targets(made, steps), *_asked(event, controls)],
    }


def _name(revisions: Any, event: EventRow) -> str | None:
    """Return the name of a table after an event; of one that the event drops, its last one."""
    names = [one.table.name for one in revisions if one.table is not None and one.key.lsn <= event.key.lsn]
    return str(names[-1]) if names else None


def _at_targets(made: Mapping[int, int], steps: list[LedgerRow]) -> Iterator[dict[str, Any]]:
    for step in steps:
        if made.get(step.table_id) == step.revision:
            told = {"how": "sql", "target": step.target, "at": moment_text(step.at), "what": redact(step.summary)}
            yield {**told, "state": str(step.state), "by": None}


def _asked(event: EventRow, controls: list[ControlRow]) -> Iterator[dict[str, Any]]:
    for one in controls:
        if one.key.lsn == event.key.lsn:
            told = {"how": "control", "target": one.target, "at": moment_text(one.created)}
            yield {**told, "what": one.reason, "state": "removed" if one.removed else "waits", "by": one.removed_by}
