"""This module defines the rows that the repository returns: frozen and typed, with moments in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.errors.carried import is_kind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position


class ChannelState(StrEnum):
    """A channel's state says whether the channel replicates.

    NEW: known, the source is not prepared. ACTIVE: replicates. CUT_OVER: applications use the targets, and no run
    writes there. INACTIVE: deactivated, its history stays.
    """

    NEW = "new"
    ACTIVE = "active"
    CUT_OVER = "cut over"
    INACTIVE = "inactive"


class EnrolledState(StrEnum):
    """An enrolled table's state says whether the table replicates.

    LIVE: replicates. DROPPED: gone at the source.
    """

    LIVE = "live"
    DROPPED = "dropped"


class StepState(StrEnum):
    """A ledger step's state says whether the step was planned, done, or has failed."""

    PLANNED = "planned"
    DONE = "done"
    FAILED = "failed"


class RunStatus(StrEnum):
    """A run status says whether a stage of a run is running, is done, has failed or was lost.

    LOST: its process ended without a result, and another run has taken the channel over.
    """

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A channel row is what the repository knows of one channel.

    epoch: grows when the log before is captured again or the channel is made again.
    explained: which catalog of the source a capture found to be explained by the log; "" when there is none.
    log_identity: of the log that was captured; empty: not asked yet. server: the run of the source's server that
    reported it.
    feed_id: of what the source publishes the rows by, where it does not know that itself.
    """

    name: str
    fingerprint: str
    state: ChannelState
    epoch: int
    created: datetime
    activated: datetime | None
    explained: str = ""
    server: str | None = None
    log_identity: str = ""
    feed_id: int | None = None

    @property
    def is_activated(self) -> bool:
        """Is the channel activated, whether it replicates or is cut over?"""
        return self.state in (ChannelState.ACTIVE, ChannelState.CUT_OVER)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table row is one enrolled table under its newest name."""

    table_id: int
    name: TableName
    state: EnrolledState
    updated: datetime


@dataclass(frozen=True, slots=True)
class TableRows:
    """These are rows of one table in a segment: how many, their size in the trail, and where the last one commits."""

    rows: int
    bytes: int
    last: Position


@dataclass(frozen=True, slots=True)
class CountedFrom:
    """This value says from where on the captured rows of each table are counted. tables: from earlier on, by id."""

    position: Position
    tables: Mapping[int, Position]

    def of(self, table_id: int) -> Position:
        """Return from where on the rows of a table are counted."""
        return self.tables.get(table_id, self.position)


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """Segment facts are what the repository stores of a trail segment: the window low <= commit < high and its size.

    digest: of its manifest. tables: rows by table id, and where they begin.
    """

    epoch: int
    low: Position
    high: Position
    rows: int = 0
    bytes: int = 0
    files: int = 0
    digest: str | None = None
    tables: Mapping[tuple[int, Position], TableRows] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A segment row is one captured window that has had a manifest in the trail.

    state: "live" or "expired". events: schema changes, truncates and gaps that touch the channel's tables.
    digest: of the manifest; None: an earlier version of the product has stored the segment.
    """

    epoch: int
    low: Position
    high: Position
    rows: int
    bytes: int
    files: int
    events: int
    token: int
    state: str
    created: datetime
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event row is one schema change, truncate or gap of the log."""

    key: LogKey
    kind: str
    tag: str
    statement: str | None
    table_ids: tuple[int, ...]
    committed: datetime


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A ledger row is one step towards a revision at a target, recorded exactly once.

    statement: the SQL that ran, as far as it is not too long; empty: none did, or an earlier version recorded it.
    """

    target: str
    table_id: int
    revision: int
    step: int
    sql_hash: str
    summary: str
    state: StepState
    at: datetime
    statement: str = ""


@dataclass(frozen=True, slots=True)
class ControlRow:
    """A control is a breakpoint: the target may not go past `key` until a person removes it.

    removed_by: who that was; None: not known.
    """

    id: int
    target: str
    key: LogKey
    reason: str
    policy: str
    created: datetime
    removed: datetime | None
    removed_by: str | None = None

    @property
    def policy_name(self) -> str:
        """Return the name of the policy that set the control, without its value."""
        return self.policy.partition("=")[0]

    def to_json(self) -> dict[str, Any]:
        """Return the control as a JSON object, as the command line prints it."""
        return {
            "id": self.id,
            "target": self.target,
            "at": str(Position(self.key.lsn)),
            "seq": self.key.seq,
            "reason": self.reason,
            "policy": self.policy,
            "created": self.created.isoformat(),
            "removed": self.removed.isoformat() if self.removed else None,
            "removed_by": self.removed_by,
        }


@dataclass(frozen=True, slots=True)
class RefreshRow:
    """A refresh row is a table that waits to be loaded again, or was loaded.

    state: "pending", "done", or "declined": the table may differ instead. how: as in the target's refresh record.
    """

    id: int
    target: str
    table_id: int
    reason: str
    requested_at: Position
    state: str
    rows: int | None
    created: datetime
    finished: datetime | None
    how: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run row is one stage of one run."""

    run_id: str
    stage: str
    token: int
    started: datetime
    ended: datetime | None
    status: RunStatus
    result: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class ApplyRow:
    """An apply row says when the last apply of changes at a target began, and the token of the run that did it."""

    at: datetime
    token: int


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """An error row is one error that ended a run."""

    id: int
    run_id: str
    stage: str
    code: str
    message: str
    hint: str
    table: str | None
    at: str | None
    created: datetime
    target: str | None = None
    kind: str = ""

    def is_a(self, *kinds: type[DdlReplError]) -> bool:
        """Is it an error of one of these classes?"""
        return is_kind(self.kind, *kinds)

    def to_json(self) -> dict[str, Any]:
        """Return the error as a JSON object, as the command line prints it."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("target", "kind")},
            "created": self.created.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class LockRow:
    """A lock row is who has a channel, and since when. is_live: its lease has not run out, nor is its process gone."""

    holder: str
    since: datetime
    is_live: bool
