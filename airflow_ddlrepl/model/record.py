"""A record is what a transaction at a target did that the repository has to know: steps and refreshes.

The target stores such records in the transaction that made them true, until the repository has them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from airflow_ddlrepl.model.position import Position

RELOADED = "the table is not in the source's log: it is loaded in full"
# Why a table waits for a refresh, as people read it.
BY_HAND = "asked for by hand"
JOINED = "the table joined the channel at activation"
NEW_TRAIL = "the trail was lost, and a new one has begun"
UNREADABLE = "the log has rows that the target can't read"  # no value of theirs is stored

RELOAD = "reload"  # as the actions say, of a table that is loaded again and again because the log can't bring it
FIRST_LOAD = "first"  # as the actions say, of a table whose rows the target could never have had


NO_STATEMENT = ""


@dataclass(frozen=True, slots=True)
class StepApplied:
    """This record says what became of a step of the plan towards a revision at the target: it ran, or nothing did.

    step: its number in the plan. sql_hash: of its statements; NO_STATEMENT: none ran. summary: what it was for, or why
    the target stays as it is. statement: its statements, to be read by people, as far as they are not too long.
    """

    table_id: int
    revision: int
    step: int
    sql_hash: str
    summary: str
    statement: str = ""


@dataclass(frozen=True, slots=True)
class RefreshRequested:
    """This record says that a table waits for a refresh since position `at`.

    is_by_hand: a person requested it, and the person's reason replaces others. how: refresh options, FIRST_LOAD or
    RELOAD; empty: as the channel file's actions say.
    """

    table_id: int
    reason: str
    at: Position
    is_by_hand: bool = False
    how: str = ""


@dataclass(frozen=True, slots=True)
class RefreshDone:
    """This record says that a table was loaded with so many rows; None: it is gone and needs no refresh any more."""

    table_id: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class RefreshDeclined:
    """This record says that a table's rows may differ from the source's since `at`.

    A policy or a person decided against a refresh.
    """

    table_id: int
    reason: str
    at: Position


@dataclass(frozen=True, slots=True)
class StatementDiscarded:
    """This record says that a target's Replicat has put a DDL statement aside, after an error with this code.

    table: at the source. text: as the target was to run it. at: where in the log.
    """

    table: str
    text: str
    error: str
    why: str
    at: Position


Record = StepApplied | RefreshRequested | RefreshDone | RefreshDeclined | StatementDiscarded


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as a JSON object, as the target stores it."""
    kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
    return {"kind": kind, **asdict(record)}


def from_json(data: dict[str, Any]) -> Record:
    """Return the record that `to_json` wrote."""
    values = {name: value for name, value in data.items() if name != "kind"}
    if "at" in values:
        values["at"] = Position(values["at"])
    return _KINDS[data["kind"]](**values)


_KINDS: dict[str, type[Record]] = {
    "step": StepApplied,
    "refresh asked": RefreshRequested,
    "refresh done": RefreshDone,
    "refresh declined": RefreshDeclined,
    "statement discarded": StatementDiscarded,
}
