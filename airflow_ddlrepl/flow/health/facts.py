"""The facts of a channel's health are what the repository knows of it, read by few queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from airflow_ddlrepl.flow.health.failures import OF_THE_CHANNEL, open_failures
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.rows import ChannelState, ControlRow, LagRow, LockRow, QueuedRow, StageEnd, StatusRow

HISTORY = timedelta(hours=48)
MOST_QUEUED = 500


@dataclass(frozen=True)
class Facts:
    """The facts of one channel at a moment.

    state: None: the repository does not know the channel. interval: how many seconds lie between two of its cycles, by
    its schedule or as usual; None: not known. failures: ends of stages that no later one has cured, newest first.
    file: the channel file, as commands name it. queued: the first rows in error queues.
    """

    channel: str
    now: datetime
    state: ChannelState | None
    is_captured: bool = False
    status: StatusRow | None = None
    ends: dict[str, StageEnd] = field(default_factory=dict)
    holder: LockRow | None = None
    controls: list[ControlRow] = field(default_factory=list)
    interval: float | None = None
    history: list[LagRow] = field(default_factory=list)
    file: str = "CHANNEL.yaml"
    queued: list[QueuedRow] = field(default_factory=list)

    @property
    def content(self) -> dict[str, Any]:
        """Return the stored status; empty: there is none."""
        return (self.status.content if self.status is not None else None) or {}

    @property
    def last_end(self) -> StageEnd | None:
        """Return the newest end of a stage that moves the channel; None: none has run."""
        return max((e for e in self.ends.values() if e.stage in OF_THE_CHANNEL), key=lambda e: e.ended, default=None)

    @property
    def failures(self) -> list[StageEnd]:
        """Return the ends of stages that failed and that no later run has cured, newest first."""
        return open_failures(self.ends)

    @property
    def targets(self) -> list[str]:
        """Return the names of the targets, also those that apply processes write."""
        return [*self.content.get("targets", {}), *(one["target"] for one in self.content.get("apply", ()))]

    def since_status(self, what: str) -> Any:
        """Return what the newest cycle since the status has brought; None: none has brought any of it."""
        taken = self.status.taken if self.status else None
        ends = [e for e in self.ends.values() if e.progress.get(what) and (taken is None or e.ended > taken)]
        newest = max(ends, key=lambda end: end.ended, default=None)
        return newest.progress[what] if newest else None

    def position(self, target: str) -> str | None:
        """Return where a target is now, as far as known."""
        known = self.content.get("targets", {}).get(target, {}).get("position")
        found: str | None = (self.since_status("positions") or {}).get(target, known)
        return found

    def newest_lag(self, target: str) -> LagRow | None:
        """Return how far a target was behind after its newest cycle; None: the status is newer, or there was none."""
        row = next((one for one in reversed(self.history) if one.target == target), None)
        taken = self.status.taken if self.status else None
        return row if row is not None and (taken is None or row.at > taken) else None

    def age(self, at: datetime) -> float:
        """Return how many seconds ago a moment was."""
        return max(0.0, (self.now - at).total_seconds())


def read_facts(
    repository: Repository, channel: str, now: datetime, interval: float | None = None, file: str = "CHANNEL.yaml"
) -> Facts:
    """Return the facts of a channel. interval: seconds between two runs of its schedule; None: as usual."""
    row, captured = repository.channel_and_position(channel)
    if row is None:
        return Facts(channel, now, None, file=file)
    history = repository.lag_rows(channel, now - HISTORY)
    return Facts(
        channel,
        now,
        row.state,
        captured is not None,
        repository.stored_status(channel),
        repository.stage_ends(channel),
        repository.last_holder(channel),
        repository.controls(channel),
        interval or usual_interval(history),
        history,
        file,
        repository.queued_rows(channel, most=MOST_QUEUED),
    )


def usual_interval(history: list[LagRow]) -> float | None:
    """Return how many seconds usually lie between two cycles, by the last fifty; None: there were too few."""
    moments = sorted({row.at for row in history if not row.is_hour})[-50:]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return median(gaps) if len(gaps) >= 3 else None
