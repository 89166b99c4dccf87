"""This module says how far a target is behind: the age of the oldest commit at the source that it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc

from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.stages import Cycle, names_of
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import RunRow, RunStatus, SegmentRow

_READ_ALL = names_of(Cycle.BEGINS, Cycle.BEFORE)
"""What committed before such a stage began is captured once it is done."""


@dataclass(frozen=True, slots=True)
class Lag:
    """A lag is how old the oldest commit is that a target does not have.

    seconds: 0: it has all; None: not known. is_at_most: it may be less, because the source could not be asked more
    exactly. since: when it was last known, where it is not.
    """

    seconds: float | None
    is_at_most: bool = False
    since: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as a part of a target's status."""
        since = self.since.isoformat(timespec="seconds") if self.since is not None else None
        return {"lag_seconds": self.seconds, "lag_is_at_most": self.is_at_most, "lag_unknown_since": since}


def lag_text(found: dict[str, Any]) -> str:
    """Return the lag of a target's status in words."""
    if found["lag_seconds"] is not None:
        return f"{'at most ' if found['lag_is_at_most'] else ''}{found['lag_seconds']} s behind"
    since = f", since {found['lag_unknown_since']}" if found["lag_unknown_since"] else ""
    return f"nobody knows how long behind{since}"


def lag_of_capture(context: RunContext, captured: Position, end: Position | None, now: datetime) -> Lag:
    """Return how old the oldest commit is that is not captured. end: of the source's log; None: it does not answer."""
    seen = _read_all(context.repository.runs(context.channel.name))
    if end is None:
        return Lag(None, since=seen)
    if end <= captured:
        return Lag(0.0)
    oldest = context.source.oldest_commit(captured, end)
    if oldest.is_known:
        return Lag(0.0 if oldest.at is None else age(oldest.at, now))
    return Lag(None) if seen is None else Lag(age(seen, datetime.now(UTC)), is_at_most=True)


def lag_at(context: RunContext, segments: Sequence[SegmentRow], uncaptured: Lag, now: datetime, since: Position) -> Lag:
    """Return how far a target at `since` is behind. uncaptured: `lag_of_capture`. Raises TrailError."""
    oldest = oldest_captured(context, segments, since)
    return uncaptured if oldest is None else Lag(age(oldest, now))


def age(at: datetime, now: datetime) -> float:
    """Return how many seconds ago a commit was."""
    return max(0.0, round((now - at).total_seconds(), 1))


def _read_all(runs: Sequence[RunRow]) -> datetime | None:
    """Return the moment up to which everything is captured; None: not known."""
    done = (one.started for one in runs if one.stage in _READ_ALL and one.status is RunStatus.DONE)
    return max(done, default=None)


def oldest_captured(context: RunContext, segments: Sequence[SegmentRow], since: Position) -> datetime | None:
    """Return when the first captured transaction from this position on committed."""
    for row in segments:
        if row.high > since:
            transactions = context.transactions(row)
            waiting = transactions.filter(pc.greater_equal(transactions["lsn"], int(since)))
            if waiting.num_rows:
                return datetime.fromtimestamp(pc.min(waiting["committed"]).as_py() / 1_000_000, UTC)
    return None
