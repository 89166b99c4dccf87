"""The history of a table is its revisions in order: the source's statement, and what became of it at each target."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.location import short_text
from airflow_ddlrepl.flow.health.outcomes import Outcomes
from airflow_ddlrepl.flow.health.shape_changes import changes_between
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import EventRow, RefreshRow


def table_history(repository: Repository, channel: str, table_id: int) -> dict[str, Any]:
    """Return a table's revisions, oldest first, each with what became of it at each target.

    At a target an entry has `how`: sql (a step that ran there, with its `sql`), load (the table was loaded), control (a
    person was asked; `by`: who removed it), left out (rows may differ, with the reason), unchanged (no statement ran,
    and why). A change that a later load has brought has that load. `loads` has all loads.
    """
    revisions = repository.revisions(channel, table_id)
    first = Position(revisions[0].key.lsn) if revisions else None
    events = {one.key: one for one in repository.events(channel, first) if table_id in one.table_ids}
    steps = repository.ledger(channel, table_ids=[table_id])
    loads = [one for one in repository.refreshes(channel) if one.table_id == table_id]
    controls = repository.controls(channel, removed=True)
    names = [one.table.name for one in revisions if one.table is not None]
    became = Outcomes(revisions, steps, loads, controls)
    before: Revision | None = None
    entries = []
    for one in revisions:
        entries.append({**_revision(before, one, events.get(one.key)), "targets": became.of(one)})
        before = one
    return {
        "channel": channel,
        "table_id": table_id,
        "table": str(names[-1]) if names else None,
        "names": [str(name) for name in dict.fromkeys(names)],
        "is_dropped": bool(revisions) and revisions[-1].table is None,
        "revisions": entries,
        "loads": [_load(one) for one in loads],
    }


def _revision(before: Revision | None, revision: Revision, event: EventRow | None) -> dict[str, Any]:
    statement = revision.statement or (event.statement if event is not None else None)
    return {
        "revision": revision.number,
        "at": str(Position(revision.key.lsn)),
        "seq": revision.key.seq,
        "origin": str(revision.origin),
        "is_ambiguous": revision.is_ambiguous,
        "committed": moment_text(event.committed) if event is not None else None,
        "tag": event.tag if event is not None else None,
        "statement": short_text(statement) if statement else None,
        "name": str(revision.table.name) if revision.table is not None else None,
        "changes": changes_between(before.table if before else None, revision.table),
    }


def _load(row: RefreshRow) -> dict[str, Any]:
    return {
        "target": row.target,
        "reason": row.reason,
        "state": row.state,
        "requested_at": str(row.requested_at),
        "rows": row.rows,
        "created": moment_text(row.created),
        "finished": moment_text(row.finished),
    }
