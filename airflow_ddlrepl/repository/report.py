"""What the repository knows of one channel, at a glance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.rows import ChannelRow, ControlRow, RefreshRow, RunRow


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """One channel's state. holder: the run that has the channel now. targets: position by target, when asked."""

    channel: ChannelRow
    captured: Lsn | None
    captured_at: datetime | None
    tables: dict[str, int]
    schema_changes: dict[str, int]
    pending: tuple[RefreshRow, ...]
    controls: tuple[ControlRow, ...]
    errors: int
    holder: str | None
    last_runs: tuple[RunRow, ...]
    targets: dict[str, str | None]

    def to_json(self) -> dict[str, Any]:
        return {
            "channel": self.channel.name,
            "state": str(self.channel.state),
            "epoch": self.channel.epoch,
            "activated": _moment(self.channel.activated),
            "captured": None if self.captured is None else str(self.captured),
            "captured_at": _moment(self.captured_at),
            "targets": self.targets,
            "tables": self.tables,
            "schema_changes": self.schema_changes,
            "pending_refreshes": [
                {"target": r.target, "table_id": r.table_id, "reason": r.reason} for r in self.pending
            ],
            "controls": [control.to_json() for control in self.controls],
            "errors": self.errors,
            "holder": self.holder,
            "last_runs": [_run(run) for run in self.last_runs],
        }

    def text(self) -> str:
        data = self.to_json()
        lines = [f"channel {data['channel']}: {data['state']}"]
        lines.append(f"  captured up to {data['captured'] or 'nothing yet'}")
        lines += [f"  target {name} at {at or 'nothing yet'}" for name, at in self.targets.items()]
        lines.append("  tables: " + (", ".join(f"{n} {state}" for state, n in self.tables.items()) or "none"))
        lines.append(
            "  schema changes: " + (", ".join(f"{n} {tag}" for tag, n in self.schema_changes.items()) or "none")
        )
        lines += [f"  refresh pending: table {r.table_id} at {r.target}: {r.reason}" for r in self.pending]
        lines += [f"  STOPPED at control {c.id}: {c.target} at {Lsn(c.key.lsn)}: {c.reason}" for c in self.controls]
        lines += [f"  {self.errors} errors: ddlrepl errors shows them"] if self.errors else []
        lines += [f"  held by {self.holder}"] if self.holder else []
        return "\n".join(lines)


def report(repository: Repository, channel: str, targets: dict[str, str | None] | None = None) -> ChannelReport:
    """Gather it. Raises ConfigError CFG-131 when the repository doesn't know the channel."""
    row = repository.channel(channel)
    if row is None:
        raise ConfigError(
            f"the repository knows no channel {channel}",
            code="CFG-131",
            hint="ddlrepl activate makes it known; is `repository` in the channel file the right one?",
        )
    segments = repository.segments(channel)
    return ChannelReport(
        channel=row,
        captured=repository.captured(channel),
        captured_at=segments[-1].created if segments else None,
        tables=dict(Counter(str(table.state) for table in repository.tables(channel))),
        schema_changes=repository.event_counts(channel),
        pending=tuple(repository.pending_refreshes(channel)),
        controls=tuple(repository.controls(channel)),
        errors=repository.error_count(channel),
        holder=repository.holder(channel),
        last_runs=tuple(repository.runs(channel, limit=8)),
        targets=targets or {},
    )


def _moment(value: datetime | None) -> str | None:
    return value.isoformat(timespec="seconds") if value else None


def _run(run: RunRow) -> dict[str, Any]:
    times = {"started": _moment(run.started), "ended": _moment(run.ended)}
    return {"run_id": run.run_id, "stage": run.stage, "status": str(run.status), **times}
