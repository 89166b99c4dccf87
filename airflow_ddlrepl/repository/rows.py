"""What the repository answers with: frozen, typed, moments in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.model.lineage import Lineage
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Lsn


class ChannelState(StrEnum):
    """NEW: known, the source is not prepared. ACTIVE: replicates. INACTIVE: deactivated, history kept."""

    NEW = "new"
    ACTIVE = "active"
    INACTIVE = "inactive"


class TableState(StrEnum):
    """LIVE: replicates. DROPPED: gone at the source. DIVERGENT: a WARNING policy let source and target differ."""

    LIVE = "live"
    DROPPED = "dropped"
    DIVERGENT = "divergent"


class StepState(StrEnum):
    """Where a ledger step stands."""

    PLANNED = "planned"
    DONE = "done"
    FAILED = "failed"


class RunStatus(StrEnum):
    """LOST: its process ended without saying so, another run has taken the channel over."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel as the repository knows it. epoch: grows when the past is replayed or the channel made anew.

    explained: the source's catalog of which a capture found that the log tells all of it; "" when there is none.
    lineage: of the log that was captured. server: the run of the source's server that told it. None: not asked yet.
    publication: the id of the one that the rows are read by, where the source does not know it.
    """

    name: str
    fingerprint: str
    state: ChannelState
    epoch: int
    created: datetime
    activated: datetime | None
    explained: str = ""
    server: str | None = None
    lineage: Lineage | None = None
    publication: int | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One enrolled table under its newest name."""

    table_id: int
    name: TableName
    state: TableState
    updated: datetime


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """What commit_segment stores of a trail segment: the window low <= commit < high and its size."""

    epoch: int
    low: Lsn
    high: Lsn
    rows: int = 0
    bytes: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One captured window whose manifest stands in the trail. state: "live" or "expired".

    events: schema changes, truncates and gaps that touch the channel's tables.
    """

    epoch: int
    low: Lsn
    high: Lsn
    rows: int
    bytes: int
    files: int
    events: int
    token: int
    state: str
    created: datetime


@dataclass(frozen=True, slots=True)
class EventRow:
    """One schema change, truncate or gap of the log."""

    key: LogKey
    kind: str
    tag: str
    statement: str | None
    table_ids: tuple[int, ...]
    committed: datetime


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One step towards a revision at a target, recorded exactly once."""

    target: str
    table_id: int
    revision: int
    step: int
    sql_hash: str
    summary: str
    state: StepState
    at: datetime


@dataclass(frozen=True, slots=True)
class ControlRow:
    """A breakpoint: the target may not go past `key` until a person removes it."""

    id: int
    target: str
    key: LogKey
    reason: str
    policy: str
    created: datetime
    removed: datetime | None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "target": self.target,
            "at": str(Lsn(self.key.lsn)),
            "seq": self.key.seq,
            "reason": self.reason,
            "policy": self.policy,
            "created": self.created.isoformat(),
            "removed": self.removed.isoformat() if self.removed else None,
        }


@dataclass(frozen=True, slots=True)
class RefreshRow:
    """A table that has to be (or was) loaded anew. state: "pending", "done", or "declined": it may differ instead.

    how: as in `RefreshAsked`.
    """

    id: int
    target: str
    table_id: int
    reason: str
    requested_at: Lsn
    state: str
    rows: int | None
    created: datetime
    finished: datetime | None
    how: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One stage of one run."""

    run_id: str
    stage: str
    token: int
    started: datetime
    ended: datetime | None
    status: RunStatus
    result: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error that ended a run."""

    id: int
    run_id: str
    stage: str
    code: str
    message: str
    hint: str
    table: str | None
    at: str | None
    created: datetime

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
            "created": self.created.isoformat(),
        }
