"""Status: where the channel and its targets stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.connect import session
from airflow_ddlrepl.flow.cycle import Cycle
from airflow_ddlrepl.model.position import Lsn


@dataclass(frozen=True)
class Status:
    """captured: position of the trail. lag: log bytes that are not captured yet. targets: name → what stands there."""

    channel: str
    captured: Lsn
    source: Lsn
    targets: dict[str, dict[str, Any]]
    controls: int
    errors: int

    def to_json(self) -> dict[str, Any]:
        return {
            "channel": self.channel,
            "captured": str(self.captured),
            "source": str(self.source),
            "lag_bytes": max(0, self.source - self.captured),
            "targets": self.targets,
            "controls": self.controls,
            "errors": self.errors,
        }

    def text(self) -> str:
        lines = [
            f"channel {self.channel}",
            f"captured {self.captured}, source at {self.source} ({max(0, self.source - self.captured)} bytes ahead)",
        ]
        for name, found in self.targets.items():
            lines.append(f"target {name} at {found['position']}: {len(found['tables'])} tables")
            lines += [f"  {t['table']}: {t['state']}" for t in found["tables"] if t["state"] != "live"]
        lines.append(f"controls {self.controls}, errors {self.errors}")
        return "\n".join(lines)


def status(cycle: Cycle) -> Status:
    captured = cycle.captured()
    row = cycle.source.connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    latest = cycle.repository.latest_revisions(cycle.channel.name)
    targets = {}
    for target in cycle.channel.targets:
        with session(cycle.target_dsn(target.name)) as connection:
            found = state.read_state(connection, cycle.channel.name)
        tables = [
            {
                "table": str(s.name),
                "table_id": i,
                "state": s.state.value,
                "revision": latest[i].number if i in latest else None,
            }
            for i, s in sorted(found.standings.items(), key=lambda item: item[1].name)
        ]
        targets[target.name] = {"position": str(found.lsn), "tables": tables}
    return Status(
        cycle.channel.name,
        captured,
        Lsn.parse(row[0]) if row else captured,
        targets,
        len(cycle.repository.controls(cycle.channel.name)),
        cycle.repository.error_count(cycle.channel.name),
    )
