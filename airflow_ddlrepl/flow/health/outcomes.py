"""What became of a table's revisions at each target: steps that ran there, loads, and controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository.stored.rows import ControlRow, LedgerRow, RefreshRow


@dataclass(frozen=True)
class TargetOutcome:
    """An outcome says what became of a revision at a target; every page and answer has all of these fields."""

    target: str
    how: str
    """sql, unchanged, load, left out or control."""
    state: str
    what: str
    at: datetime | None
    sql: str = ""
    by: str | None = None
    """Who has removed the control."""
    removed: datetime | None = None
    number: int | None = None
    """The control's."""
    rows: int | None = None
    """So many have been loaded."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "at": moment_text(self.at), "removed": moment_text(self.removed)}


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
        found = [_of_step(one) for one in self._steps if one.revision == revision.number]
        found += [of_control(one) for one in self._controls if one.key.lsn == revision.key.lsn]
        found += [_of_load(one) for one in self._within(revision)]
        named = {one.target for one in found}
        for target in dict.fromkeys(one.target for one in self._loads if one.target not in named):
            later = [one for one in self._loads if one.target == target and one.requested_at >= revision.key.lsn]
            found += [_of_load(one) for one in later[:1]]
        return sorted((one.to_json() for one in found), key=lambda one: (one["target"], one["at"] or ""))

    def _within(self, revision: Revision) -> list[RefreshRow]:
        """Return the loads that were asked for at a revision, before the next one."""
        low = 0 if revision.number == self._first else revision.key.lsn
        later = self._later[revision.number]
        return [
            one
            for one in self._loads
            if one.requested_at >= low and (later is None or one.requested_at < later.key.lsn)
        ]


def of_control(control: ControlRow) -> TargetOutcome:
    """Return what became of a revision before which a control stands, or stood."""
    state, what = "removed" if control.removed else "waits", f"{control.reason} ({control.policy})"
    asked = TargetOutcome(control.target, "control", state, what, control.created, number=control.id)
    return replace(asked, by=control.removed_by, removed=control.removed)


def _of_step(step: LedgerRow) -> TargetOutcome:
    how = "sql" if step.sql_hash else "unchanged"
    return TargetOutcome(step.target, how, str(step.state), redact(step.summary), step.at, step.statement)


def _of_load(load: RefreshRow) -> TargetOutcome:
    how, at = "left out" if load.state == "declined" else "load", load.finished or load.created
    return TargetOutcome(load.target, how, load.state, load.reason, at, rows=load.rows)
