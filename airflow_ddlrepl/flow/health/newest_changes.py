"""The newest schema changes of a channel's source, each once, with what became of it at each target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from airflow_ddlrepl.config.sections.location import short_text
from airflow_ddlrepl.flow.health.outcomes import Outcomes, of_control
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import EventRow, LedgerRow, RefreshRow

MOST, MOST_TABLES = 30, 100
Row = TypeVar("Row", LedgerRow, RefreshRow)
Revisions = Mapping[int, list[Revision]]


def newest_changes(repository: Repository, channel: str, most: int = MOST) -> list[dict[str, Any]]:
    """Return the newest events of the source's log that are no rows: schema changes, truncates and gaps, newest first.

    targets: what became of it at each target, as `table_history` has it; of the first hundred of these tables.
    """
    events = repository.newest_events(channel, most)
    numbers = {number for event in events for number in event.table_ids}
    revisions = repository.revisions_of(channel, numbers) if numbers else {}
    tables = sorted(numbers)[:MOST_TABLES]
    steps, loads = _by_table(repository.ledger(channel, table_ids=tables)), _by_table(repository.refreshes(channel))
    outcomes = {one: Outcomes(revisions[one], steps.get(one, ()), loads.get(one, ()), ()) for one in tables}
    controls = repository.controls(channel, removed=True)
    return [
        {
            **_event(event, revisions),
            "targets": [
                *(entry for one in _made(event, revisions, outcomes) for entry in outcomes[one.table_id].of(one)),
                *(of_control(one).to_json() for one in controls if one.key.lsn == event.key.lsn),
            ],
        }
        for event in events
    ]


def _by_table(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for one in rows:
        found.setdefault(one.table_id, []).append(one)
    return found


def _event(event: EventRow, revisions: Revisions) -> dict[str, Any]:
    return {
        "at": str(Position(event.key.lsn)),
        "committed": moment_text(event.committed),
        "kind": str(event.kind),
        "tag": event.tag,
        "statement": short_text(event.statement) if event.statement else None,
        "tables": [{"table_id": one, "table": _name(revisions.get(one, ()), event)} for one in event.table_ids],
    }


def _made(event: EventRow, revisions: Revisions, known: Mapping[int, Outcomes]) -> list[Revision]:
    """Return the revisions that an event has made, of the tables that are known."""
    here = (one for number in event.table_ids if number in known for one in revisions[number])
    return [one for one in here if one.key == event.key]


def _name(revisions: Any, event: EventRow) -> str | None:
    """Return the name of a table after an event; of one that the event drops, its last one."""
    names = [one.table.name for one in revisions if one.table is not None and one.key.lsn <= event.key.lsn]
    return str(names[-1]) if names else None
