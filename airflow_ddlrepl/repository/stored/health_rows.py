"""These are the rows of what people look at: frozen and typed, with moments in UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.model.position import LogKey, Position


class Outcome(StrEnum):
    """An outcome says how a stage ended: IDLE: there was nothing to do."""

    DONE = "done"
    IDLE = "idle"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StatusRow:
    """A status row is the newest status of a channel.

    taken: when it was found, after the stage of that run; seconds: how long that took. content: as `Status.to_json`
    returns it; None: no status was ever found. reason: why the newest try found none; content is an older one then.
    """

    taken: datetime
    run_id: str
    stage: str
    seconds: float
    reason: str | None
    content: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class StageEnd:
    """A stage end is how the newest run of a stage ended.

    failing_since: when the stage first failed without a success since. failure: its error: kind (the class), code,
    message, hint, target, table, at. progress: what it has brought, and when: captured, positions by
    target; empty: what an earlier run of the stage has brought holds.
    """

    stage: str
    run_id: str
    began: datetime
    ended: datetime
    outcome: Outcome
    failing_since: datetime | None = None
    failure: dict[str, Any] | None = None
    progress: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LagRow:
    """A lag row is how far a target was behind after a cycle, and what the cycle had done.

    lag_seconds, lag_bytes: None: not known. rows, schema_changes: that were captured. seconds: by stage.
    is_hour: it stands for an hour: the greatest lag, the sums of rows and schema changes, the mean seconds.
    """

    target: str
    at: datetime
    lag_seconds: float | None
    lag_bytes: int | None
    rows: int = 0
    schema_changes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    is_hour: bool = False


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A plan row is what a target would do about one captured change of a table that it lacks.

    low: where the target, or its table, was when this was planned; high: the end of the captured log then. revision:
    that the change makes; None: none. fingerprint: of the channel file's settings. content: as JSON, for people.
    planned: when it was stored, by the repository's clock; None: it is not yet.
    """

    target: str
    table_id: int
    key: LogKey
    low: Position
    high: Position
    revision: int | None
    fingerprint: str
    run_id: str
    content: dict[str, Any]
    planned: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueuedRow:
    """A queued row waits in the error queue of a target. table: its name there.

    content: its key and its error as JSON, for people; no other values. found: when it was seen there; None: not yet.
    """

    target: str
    table: str
    content: dict[str, Any]
    found: datetime | None = None
