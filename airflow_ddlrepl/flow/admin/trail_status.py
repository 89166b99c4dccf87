"""The status says how much of the trail is needed, and how far back a rewind can go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.installation import LogHolder, Problem
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.trail.loads import Load

_RESTORE = "restore the files; `ddlrepl activate --start-moment oldest` reads them again where the source holds its log"
_REMOVE = "remove the files where nobody has put them there on purpose"
_OTHER_SERVER = (
    "the source is another server than the one that was captured. If this one was upgraded: `ddlrepl activate --accept"
    " server`; else correct the location, or `ddlrepl deactivate`, then `ddlrepl activate`"
)
_WAIT = "nothing: they go when `retention` removes them; until then a changed manifest of theirs is not found out"


def trail_status(
    context: RunContext, segments: Sequence[SegmentRow], needed: Iterable[Position], back: Load | None
) -> dict[str, Any]:
    """Return what the trail holds that is needed, what is retained besides, and how far back a rewind can go.

    needed: from where on each target needs the trail. back: the load that a rewind could begin with; None: none.
    """
    rewound = [back.position if back else Position(0)] if context.channel.rewind_horizon is not None else []
    since = min([*needed, *rewound], default=Position(0))
    retained = [row for row in segments if row.high <= since]
    return {
        **_extent([row for row in segments if row.high > since]),
        "retained": {
            "segments": len(retained),
            "bytes": sum(row.bytes for row in retained),
            "since": retained[0].created.isoformat(timespec="seconds") if retained else None,
            "for_seconds": context.channel.retention.age,
        },
        "horizon": str(back.snapshot.high) if back else None,
        "horizon_since": back.created.isoformat(timespec="seconds") if back else None,
    }


def held_log(context: RunContext) -> list[dict[str, Any]]:
    """Return what makes the source retain log for the channel, as the status shows it."""
    return [asdict(one) for one in holders(context)]


def holders(context: RunContext) -> list[LogHolder]:
    """Return what makes the source retain log for an active channel; nothing where none is captured from there."""
    source = find(context.source, RetainsLog) if context.channel.captures_log else None
    found = source.retained_log.holders() if source is not None else []
    if not any(one.problem for one in found) or context.repository.reads(
        context.channel.name, context.source.identity()
    ):
        return found
    return [replace(one, fix=_OTHER_SERVER) if one.problem else one for one in found]


def trail_problems(context: RunContext) -> list[Problem]:
    """Return which segments the trail lacks, and which it has too many."""
    rows = context.live_segments()
    known, there = {row.low for row in rows}, set(context.trail.starts(context.epoch))
    missing, added = sorted(known - there), sorted(there - known - {context.captured()})
    found = (
        [Problem(f"{len(missing)} segments are missing, the first from {missing[0]} on", _RESTORE)] if missing else []
    )
    if added:
        found.append(
            Problem(f"{len(added)} segments were added, the first from {added[0]} on: no run reads them", _REMOVE)
        )
    return found


def unverified(context: RunContext) -> list[Problem]:
    """Return how many segments have no digest in the repository: an earlier version has left them, and they work."""
    plain = [row for row in context.live_segments() if row.digest is None]
    return [Problem(f"{len(plain)} segments have no digest, as an earlier version left them", _WAIT)] if plain else []


def held_lines(holders: Iterable[dict[str, Any]], limits: Iterable[str]) -> list[str]:
    """Return how the status prints what retains log at the source, and the limits that come near."""
    return [*map(_held_line, holders), *(f"limit: {one}" for one in limits)]


def _held_line(one: dict[str, Any]) -> str:
    if one["problem"]:
        return f"{one['problem']}: {one['fix']}"
    left = "" if one["left"] is None else f", {one['left']} bytes until it is lost"
    return f"slot {one['name']} retains {one['bytes']} bytes of the source's log ({one['state']}{left})"


def _extent(segments: Sequence[SegmentRow]) -> dict[str, Any]:
    first = segments[0] if segments else None
    return {
        "from": str(first.low) if first else None,
        "since": first.created.isoformat(timespec="seconds") if first else None,
        "segments": len(segments),
        "bytes": sum(row.bytes for row in segments),
    }
