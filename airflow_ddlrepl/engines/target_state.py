"""This module defines values of a target: its position and state, how they change, what a program has done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from airflow_ddlrepl.adapt.plan_model import Executed, StepKind
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.key_ranges import KeyRanges
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.row_limit import RowLimit
from airflow_ddlrepl.notation.refresh_options import RefreshOptions

if TYPE_CHECKING:
    from airflow_ddlrepl.adapt.program.program import Program, ProgramStep, Slice

WAITING = (TableStatus.PENDING, TableStatus.NEW)
"""A table in one of these states waits for a refresh."""

TRUNCATED = "no_truncate: the source's table was truncated, and the rows at the target stay"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a kind of target say what it can do, as far as the stages act upon it.

    transactional_ddl: schema changes, rows and the position are committed together; where not, the ledger has to store
    before each change that it is begun, and after it that it is done. position_scope: does one position hold for the
    whole target, or does each table have its own? renames_columns, alters_types: can a column of a table be renamed,
    and get another type? Where not, a refresh creates the table again. alters_partitions: does an ALTER of a
    partitioned table alter its partitions, too? merges_at_once: is it best to merge all rows of a window at once, as a
    merge reads the whole table? takes_windows: may each window of a cycle be a commit of its own, made by a thread of
    its own while the next window is captured? What it does besides are abilities (`engines.ability`).
    """

    transactional_ddl: bool
    position_scope: Literal["target", "table"]
    renames_columns: bool = True
    alters_types: bool = True
    alters_partitions: bool = True
    merges_at_once: bool = False
    takes_windows: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """A fence says who writes: the epoch that the channel is in, and the token of the run's lock.

    A target refuses the writes of an older run. mark: of the newest capture, which a claimed target gets; None: none.
    """

    epoch: int
    token: int
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class TargetPosition:
    """A target's position says up to where the log is applied: everything that commits before `lsn` is.

    epoch, token: of the run that has written it. mark: of the newest capture that a run has claimed it with, if any.
    """

    lsn: Position
    epoch: int
    token: int
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class CutOver:
    """A cut-over is the mark that applications use the target instead of the source: no run writes there.

    position: up to there the target has the source's log. since: when it was stored.
    """

    position: Position
    since: datetime


@dataclass(frozen=True, slots=True)
class TargetState:
    """A target's state is what it knows of a channel: its position, and the state of each table of the channel.

    lsn: everything that commits before it is applied. table_states: the channel's tables here, by source id.
    table_positions: by source id, of the tables that have more of the log than that: everything before it is applied to
    them, and `table_states` has them as they are there. A table that the log has dropped meanwhile is among them, and a
    suspended one with what it has, also where that is less.
    """

    lsn: Position
    epoch: int
    token: int
    table_states: Mapping[int, TableState]
    table_positions: Mapping[int, LogKey] = field(default_factory=dict)
    mark: Mark | None = None
    """Of the newest capture that a run has claimed the target with, if any is stored."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move changes a target's position to `to`.

    since: where the target is now, which nobody else may have changed; None: it has no position yet, or with restarts
    that does not matter. restarts: the channel begins again there, whatever was applied; records that were not read yet
    are forgotten.
    """

    to: Position
    since: TargetPosition | TargetState | None
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state change is what is written of a target's state in one transaction.

    move: of its position; None: it stays. statements: run first. states: tables as they are now, by id. gone: ids of
    those that it has no more. records: for the repository.
    """

    move: Move | None = None
    statements: Sequence[str] = ()
    states: Mapping[int, TableState] = field(default_factory=dict)
    gone: Collection[int] = ()
    records: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class RecordAt:
    """A placed record is a record for the repository with the place in the log at which it becomes true.

    It is written together with what is applied there.
    """

    key: LogKey
    record: Record


@dataclass
class StagedSlice:
    """A staged slice is a slice of a program together with what was staged of it.

    sections: by number, in order, each a list of what one task returned.
    """

    piece: Slice
    sections: dict[int, list[Any]]


@dataclass(frozen=True, slots=True)
class TargetWork:
    """This work is what a target is to apply for one holder: a program with its staged rows, and records.

    records: left for the repository, under that holder.
    """

    holder: str
    program: Program
    slices: Sequence[StagedSlice]
    records: Sequence[RecordAt]


@dataclass
class Applied:
    """This value says what applying a program has done: rows, changes, statements and warnings.

    rows, changes: how many, by kind. statements: how many were run. notes: what each change means. losses: which values
    it takes from the target.
    discarded: changes that the target does not take, by table and reason. executed: what was run for schema changes.
    conflicts: changes that found another row than they were made to, by table, conflict, and what became of them.
    """

    rows: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    discarded: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    executed: list[Executed] = field(default_factory=list)

    def count(self, step: ProgramStep) -> None:
        """Count what a finished step has changed, and add its notes and warnings."""
        if step.event.kind is EventKind.NO_TRUNCATE and step.before is not None:
            self.warnings.append(f"{step.before.name}: {TRUNCATED}")
        if step.truncates:
            self.changes["truncate"] += 1
        if step.plan is None:
            return
        for change in step.plan.changes:
            self.changes[change.split(" ", 1)[0]] += 1
        losses = step.plan.losses
        self.losses += [f"{step.plan.name}: {loss}" for loss in losses]
        self.notes += [f"{step.plan.name}: {hazard}" for hazard in step.plan.hazards if hazard not in losses]
        self.warnings += [f"{step.plan.name}: {part.why}" for part in step.plan.steps if part.kind is StepKind.WARN]


@dataclass(frozen=True, slots=True)
class Placing:
    """A placing says how a loaded shadow table is to become a target's table.

    state: the table's state afterwards. rows: how many were loaded. previous: the table's name at the target before,
    if it is there. keeps: columns that the source does not have: rows that stay, by key, keep their values there.
    at: the target's position. limit: the rows of the table that the shadow's replace; None: all.
    discarded: rows of the source that the shadow does not have, besides those that its load has discarded.
    recorded: the shape that the channel gave the table; columns that people added stay with their values, by key.
    ranges: those of its key that the shadow's rows are of, in the others nothing differs; None: all.
    mark: of the source's table, where the table has just its rows (`DifferingTask`); empty: none is stored.
    """

    state: TableState
    shadow: TableName
    rows: int
    previous: TableName | None
    keeps: Sequence[str]
    recorded: Table | None
    options: RefreshOptions
    at: Position | None = None
    limit: RowLimit | None = None
    discarded: Sequence[DiscardedRow] = ()
    ranges: KeyRanges | None = None
    mark: str = ""


def forgotten(target: str, channel: str) -> TargetError:
    """Return the error for a target that knows nothing of the channel although it should.

    target: how the message names it.
    """
    return TargetError(
        f"{target} has no state of channel {channel}",
        code="TGT-101",
        hint="was it restored, was its schema ddlrepl dropped, or does its location lead to another database now?"
        " `ddlrepl activate` loads its tables again; where they hold rows still, set `existing_tables: replace` for it"
        " first",
    )
