"""A verdict is one sentence about a channel or a target, with a level, the reason, and what helps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """A level says how a channel or target is.

    GOOD: it follows the source. WAITING: it waits for a person. LATE: it is further behind than it should be. BAD:
    something fails. UNKNOWN: nothing is known yet.
    """

    GOOD = "good"
    UNKNOWN = "unknown"
    LATE = "late"
    WAITING = "waiting"
    BAD = "bad"

    @property
    def rank(self) -> int:
        """Return 0 for what is good; a larger number is worse."""
        return tuple(Level).index(self)


@dataclass(frozen=True)
class Remedy:
    """A remedy is what a person can do: in words, as a command to copy, as a DAG to start with a filled form."""

    text: str = ""
    command: str = ""
    dag: str = ""
    conf: dict[str, Any] = field(default_factory=dict, repr=False)


NOTHING_TO_DO = Remedy()


@dataclass(frozen=True)
class Verdict:
    """A verdict says how a channel or target is. as_of: the moment that its facts are of; None: there are none."""

    level: Level
    sentence: str
    reason: str = ""
    remedy: Remedy = NOTHING_TO_DO
    as_of: datetime | None = None

    def to_json(self, now: datetime) -> dict[str, Any]:
        """Return the verdict as JSON, with the age of its facts in seconds."""
        age = None if self.as_of is None else max(0.0, round((now - self.as_of).total_seconds(), 1))
        return {
            "level": str(self.level),
            "sentence": self.sentence,
            "reason": self.reason,
            "remedy": asdict(self.remedy),
            "as_of": moment_text(self.as_of),
            "age_seconds": age,
        }


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict with the worst level, the first of several; None: there are none."""
    return max(verdicts, key=lambda one: one.level.rank, default=None)


def moment_text(at: datetime | None) -> str | None:
    """Return a moment as JSON has it."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")


def since_text(at: datetime, now: datetime) -> str:
    """Return a moment for a sentence: the time of today, or with its date."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%d %b %Y %H:%M} UTC"


def span_text(seconds: float) -> str:
    """Return a span of time as people say it: 12 s, 5 min, 3 h, 2 days."""
    if seconds < 120:
        return f"{max(0, round(seconds))} s"
    if seconds < 2 * 3600:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h" if seconds < 48 * 3600 else f"{round(seconds / 86400)} days"
