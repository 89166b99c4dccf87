"""The facts of a channel's health are what the repository knows of it, read by few queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from airflow_ddlrepl.flow.health.failures import OF_THE_CHANNEL, open_failures
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import LagRow, QueuedRow, StageEnd, StatusRow
from airflow_ddlrepl.repository.stored.rows import ChannelState, ControlRow, LockRow

HISTORY = timedelta(hours=48)
MOST_QUEUED = 500
SAME = timedelta(seconds=1)
"""Moments of one end of a stage are not further apart, however a repository rounds them."""
LEAST_GAPS = 20
"""So many times between two cycles say what is usual."""


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

    def source_place(self) -> dict[str, Any]:
        """Return what is captured, where the source's log ends, and the bytes between, all of the moment `as_of`.

        position_is_at_least: the log ends there or later: nobody has asked since. unreachable: why the source does not
        answer. With clients of Streams all are of the status, as the places of the clients are.
        """
        content = self.content
        newest = None if content.get("clients") else self._since_status(lambda progress: progress.get("captured"))
        found: dict[str, Any] = {
            "captured": content.get("captured"),
            "position": content.get("source"),
            "position_is_at_least": False,
            "lag_bytes": content.get("lag_bytes"),
            "unreachable": content.get("source_unreachable"),
            "as_of": self._as_of(),
        }
        if newest is not None:
            end, bytes_ = newest.progress.get("source"), newest.progress.get("lag_bytes")
            found |= {"captured": newest.progress["captured"], "position": end, "lag_bytes": bytes_}
            found |= {"unreachable": None, "as_of": moment_text(_moment(newest))}
        for target in content.get("targets", {}):
            moved = self._moved(target)
            at = moved.progress["positions"][target] if moved is not None else ""
            if moved is not None and _is_behind(found["captured"], at):
                found |= {"captured": at, "position": None, "lag_bytes": None, "as_of": moment_text(_moment(moved))}
        if found["captured"] and not found["unreachable"] and _is_behind(found["position"], found["captured"]):
            found |= {"position": found["captured"], "position_is_at_least": True, "lag_bytes": None}
        return found

    def target_place(self, target: str) -> dict[str, Any]:
        """Return where a target is and how far it is behind, all of the moment `as_of`; empty: nothing is known."""
        known = self.content.get("targets", {}).get(target)
        if known is None:
            return {"as_of": self._as_of()} if target in self.targets else {}
        names = ("position", "lag_seconds", "lag_bytes", "lag_is_at_most")
        found = {**{name: known.get(name) for name in names}, "as_of": self._as_of()}
        moved, lag = self._moved(target), self.newest_lag(target)
        if known.get("unreachable") or known.get("missing") or moved is None or lag is None:
            return found
        if abs(lag.at - _moment(moved)) >= SAME:
            return found
        values = (moved.progress["positions"][target], lag.lag_seconds, lag.lag_bytes, True)
        return {**dict(zip(names, values, strict=True)), "as_of": moment_text(_moment(moved))}

    def position(self, target: str) -> str | None:
        """Return where a target is now, as far as known."""
        moved = self._moved(target)
        known = self.content.get("targets", {}).get(target, {}).get("position")
        found: str | None = moved.progress["positions"][target] if moved is not None else known
        return found

    def wait(self, target: str) -> dict[str, str] | None:
        """Return since and until when a target waits by `apply_every`; None: it does not, or has been applied to since.

        A wait that is over is none: the next cycle applies.
        """
        known = self.content.get("targets", {}).get(target, {})
        until = known.get("waits_until")
        if until is None or datetime.fromisoformat(until) <= self.now or self._moved(target) is not None:
            return None
        return {"since": known["waits_since"], "until": until}

    def _moved(self, target: str) -> StageEnd | None:
        """Return the newest end since the status of a stage that has brought a target on; None: there is none."""
        return self._since_status(lambda progress: progress.get("positions", {}).get(target))

    def _since_status(self, has: Callable[[dict[str, Any]], Any]) -> StageEnd | None:
        """Return the newest end since the status of a stage whose progress has something; None: there is none.

        A stage with nothing to do has ended later than what it once brought: the moment of that counts.
        """
        taken = self.status.taken if self.content and self.status else None
        ends = [one for one in self.ends.values() if has(one.progress) and (taken is None or _moment(one) > taken)]
        return max(ends, key=_moment, default=None)

    def _as_of(self) -> str | None:
        return moment_text(self.status.taken) if self.content and self.status else None

    def newest_lag(self, target: str) -> LagRow | None:
        """Return how far a target was behind after its newest cycle; None: the status is newer, or there was none."""
        row = next((one for one in reversed(self.history) if one.target == target), None)
        taken = self.status.taken if self.status else None
        return row if row is not None and (taken is None or row.at > taken) else None

    def age(self, at: datetime) -> float:
        """Return how many seconds ago a moment was."""
        return max(0.0, (self.now - at).total_seconds())


def _moment(end: StageEnd) -> datetime:
    """Return when a stage had brought its progress."""
    at = end.progress.get("at")
    return datetime.fromisoformat(at) if at else end.ended


def _is_behind(position: str | None, other: str) -> bool:
    """Is a position in front of another one, or not known?"""
    return position is None or Position.parse(position) < Position.parse(other)


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
    """Return how many seconds usually lie between two cycles, by the last fifty; None: there were too few.

    A few runs by hand, one after the other, are no habit: nobody is to be told that the channel is late after them.
    """
    moments = sorted({row.at for row in history if not row.is_hour})[-50:]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return median(gaps) if len(gaps) >= LEAST_GAPS else None
