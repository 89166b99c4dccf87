"""The status says how much of the trail is needed, and how far back a rewind can go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.repository.rows import SegmentRow
from airflow_ddlrepl.trail.loads import Load


def trail_status(
    context: RunContext, segments: Sequence[SegmentRow], targets: Iterable[dict[str, Any]], back: Load | None
) -> dict[str, Any]:
    """Return what the trail holds that is needed, what is retained besides, and how far back a rewind can go.

    targets: their status. back: the load that a rewind could begin with; None: there is none.
    """
    since = _needed_from(context, targets, back)
    retained = [row for row in segments if row.high <= since]
    return {
        **_extent([row for row in segments if row.high > since]),
        "retained": {"segments": len(retained), "bytes": sum(row.bytes for row in retained)},
        "horizon": str(back.snapshot.high) if back else None,
        "horizon_since": back.created.isoformat(timespec="seconds") if back else None,
    }


def _needed_from(context: RunContext, targets: Iterable[dict[str, Any]], back: Load | None) -> Position:
    """Return the position from which on a target, one of its suspended tables, or a rewind needs the trail."""
    positions: list[Position] = []
    for one in targets:
        if not one["missing"]:
            late = [table["since"] for table in one["tables"] if table["state"] == TableStatus.SUSPENDED]
            positions += map(Position.parse, [one["position"] or "0/0", *late])
    if context.channel.rewind_horizon is not None:
        positions.append(back.position if back else Position(0))
    return min(positions, default=Position(0))


def _extent(segments: Sequence[SegmentRow]) -> dict[str, Any]:
    first = segments[0] if segments else None
    return {
        "from": str(first.low) if first else None,
        "since": first.created.isoformat(timespec="seconds") if first else None,
        "segments": len(segments),
        "bytes": sum(row.bytes for row in segments),
    }
