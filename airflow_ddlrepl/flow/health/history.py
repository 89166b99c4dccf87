"""The history of a table is its revisions in order: the source's statement, and what became of it at each target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.flow.health.shape_changes import changes_between
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.rows import ControlRow, EventRow, LedgerRow, RefreshRow

STATEMENT_LENGTH = 2000


def table_history(repository: Repository, channel: str, table_id: int) -> dict[str, Any]:
    """Return a table's revisions, oldest first, each with what became of it at each target.

    At a target an entry has `how`: sql (a step that ran there, with its `sql`), load (the table was loaded), control (a
    person was asked; `by`: who removed it), left out (rows may differ, with the reason), unchanged (no statement ran,
    and why). A change that a later load has brought has that load. `loads` has all loads.
    """
    revisions = repository.revisions(channel, table_id)
    first = Position(revisions[0].key.lsn) if revisions else None
    events = {one.key: one for one in repository.events(channel, first) if table_id in one.table_ids}
    steps = repository.ledger(channel, table_id=table_id)
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


class Outcomes:
    """What became of each revision of a table at its targets. steps, loads: of the table; controls: of the channel."""

    def __init__(
        self,
        revisions: Sequence[Revision],
        steps: Sequence[LedgerRow],
        loads: Sequence[RefreshRow],
        controls: Sequence[ControlRow],
    ) -> None:
        self._steps, self._loads, self._controls = steps, loads, controls
        self._later = {one.number: after for one, after in zip(revisions, (*revisions[1:], None), strict=True)}
        self._first = revisions[0].number if revisions else None

    def of(self, revision: Revision) -> list[dict[str, Any]]:
        """Return what became of the revision, by target in the order of time."""
        found = [step_json(one) for one in self._steps if one.revision == revision.number]
        found += [control_json(one) for one in self._controls if one.key.lsn == revision.key.lsn]
        found += [_became(one) for one in self._within(revision)]
        named = {one["target"] for one in found}
        for target in dict.fromkeys(one.target for one in self._loads if one.target not in named):
            later = [one for one in self._loads if one.target == target and one.requested_at >= revision.key.lsn]
            found += [_became(later[0])] if later else []
        return sorted(found, key=lambda one: (one["target"], one["at"] or ""))

    def _within(self, revision: Revision) -> list[RefreshRow]:
        """Return the loads that were asked for at a revision, before the next one."""
        low = 0 if revision.number == self._first else revision.key.lsn
        later = self._later[revision.number]
        return [
            one
            for one in self._loads
            if one.requested_at >= low and (later is None or one.requested_at < later.key.lsn)
        ]


def step_json(step: LedgerRow) -> dict[str, Any]:
    """Return a step of the plan as what became of a revision."""
    how = "sql" if step.sql_hash else "unchanged"
    what = {"how": how, "target": step.target, "at": moment_text(step.at), "what": redact(step.summary)}
    return {**what, "state": str(step.state), "by": None, "sql": step.statement}


def control_json(control: ControlRow) -> dict[str, Any]:
    """Return a control as what became of a revision."""
    what = {"how": "control", "target": control.target, "at": moment_text(control.created)}
    state = "removed" if control.removed else "waits"
    removed = {"removed": moment_text(control.removed), "by": control.removed_by, "number": control.id}
    return {**what, "what": f"{control.reason} ({control.policy})", "sql": "", "state": state, **removed}


def _became(load: RefreshRow) -> dict[str, Any]:
    """Return a load as what became of a revision."""
    how = "left out" if load.state == "declined" else "load"
    at = moment_text(load.finished or load.created)
    what = {"how": how, "target": load.target, "at": at, "what": load.reason, "sql": "", "state": load.state}
    return {**what, "rows": load.rows, "by": None}


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
        "statement": redact(statement)[:STATEMENT_LENGTH] if statement else None,
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
