"""What a target's transaction did that the repository has to know: steps for the ledger, refreshes asked for and done.

The target keeps such records in the transaction that made them true, until the repository has them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from airflow_ddlrepl.model.position import Lsn

RELOADED = "the table is not in the source's log: it is loaded whole"
# Why a table waits for a refresh, as people read it.
BY_HAND = "asked for by hand"
JOINED = "the table joined the channel at activation"
NEW_TRAIL = "the trail was lost, and a new one has begun"
UNREADABLE = "rows came that the target can't read"  # no value of theirs is kept

FIRST = "first"  # as the actions say, of a table whose rows the target could never have had


@dataclass(frozen=True, slots=True)
class StepApplied:
    """A step of the plan towards a revision ran; step: its number in the plan; summary: what it was for."""

    table_id: int
    revision: int
    step: int
    sql_hash: str
    summary: str


@dataclass(frozen=True, slots=True)
class RefreshAsked:
    """The table waits for a refresh since `at`. is_by_hand: a person's reason takes the place of others.

    how: refresh options, or FIRST; empty: as the actions say.
    """

    table_id: int
    reason: str
    at: Lsn
    is_by_hand: bool = False
    how: str = ""


@dataclass(frozen=True, slots=True)
class RefreshDone:
    """The table was loaded, with so many rows; None: it is gone, and needs no refresh any more."""

    table_id: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class RefreshDeclined:
    """Rows of the table may differ from the source's since `at`, and stay so: a policy or a person wants it."""

    table_id: int
    reason: str
    at: Lsn


Record = StepApplied | RefreshAsked | RefreshDone | RefreshDeclined


def to_json(record: Record) -> dict[str, Any]:
    kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
    return {"kind": kind, **asdict(record)}


def from_json(data: dict[str, Any]) -> Record:
    values = {name: value for name, value in data.items() if name != "kind"}
    if "at" in values:
        values["at"] = Lsn(values["at"])
    return _KINDS[data["kind"]](**values)


_KINDS: dict[str, type[Record]] = {
    "step": StepApplied,
    "refresh asked": RefreshAsked,
    "refresh done": RefreshDone,
    "refresh declined": RefreshDeclined,
}
