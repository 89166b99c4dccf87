"""A program says what one target has to do, in log order, to get from its position to another.

It has slices (rows of one table between two of its schema changes, to be netted and merged at once) and steps (a schema
change or a truncate of one table at its place in the log). `builder.ProgramBuilder` makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS, TableSettings
from airflow_ddlrepl.model.table import Table, replaced
from airflow_ddlrepl.model.table_state import Suspension, TableState, TableStatus
from airflow_ddlrepl.notation.condition.row_limit import RowLimit
from airflow_ddlrepl.scope.decide import ChangeKind

NO_TABLE = 0
"""The id of the table of a step whose statement is about none of the channel's."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice is the rows of one table with low <= key < high; `source` is their shape, `target` the target table's.

    whole: the source's shape with what the target is not to have, which conditions and functions are about. settings:
    the channel file's for the table. is_resilient: rows that it inserts may be there already, and rows that it changes
    may be missing. is_loaded: a refresh has loaded some of them, and it is not known which.
    """

    table_id: int
    low: LogKey
    high: LogKey
    source: Table
    target: Table
    name: TableName
    whole: Table | None = None
    settings: TableSettings = NO_SETTINGS
    is_resilient: bool = False
    is_loaded: bool = False

    @property
    def condition(self) -> str:
        """Return the condition for the rows that the target takes; empty: it takes all."""
        return self.settings.rows.condition or self.settings.rows.of_changes_alone

    @property
    def asking_for_old_rows(self) -> str:
        """Return the section of the channel file that needs whole old rows of the table; empty: none does."""
        settings = self.settings
        sections = {
            "restrict": bool(self.condition),
            "transform": settings.values is not None,
            "conflicts": settings.conflicts is not None,
            "target_tables": settings.columns.needs_old_rows,
            "tables": self.source.key is None or self.is_resilient,
        }
        return next((section for section, is_asking in sections.items() if is_asking), "")


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """A step is one table's part of one DDL record or truncate; `before` and `after` are its states.

    limit: the rows of the target's table that a truncate is about; None: all.
    """

    event: Event
    table_id: int
    plan: TablePlan | None
    before: TableState | None
    after: TableState | None
    limit: RowLimit | None = None

    @property
    def key(self) -> LogKey:
        """Return the log position of the step's event."""
        return self.event.key

    @property
    def truncates(self) -> bool:
        """Does the step empty the target's table, as a TRUNCATE did at the source?"""
        return self.event.kind is EventKind.TRUNCATE and self.before is not None and self.plan is None

    @property
    def runs_text(self) -> bool:
        """Does the source's own text run, and not SQL that was made of the change?"""
        return self.plan is not None and (self.plan.expected is not None or self.plan.is_text_alone)


@dataclass(frozen=True, slots=True)
class Discarded:
    """A discarded part of the log is not applied at the target, because of its rules.

    It is the rows of one table with low <= key < high, or the TRUNCATE at both. is_captured: the trail has it; else
    capture has left it out and counted it, and `high` is behind the last of these rows.
    """

    table_id: int
    kind: ChangeKind
    name: TableName
    low: LogKey
    high: LogKey
    why: str
    is_captured: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """A program has the slices and steps of one target from `low` up to `high`.

    stop: the plan that a person must deal with first, found at `high`. discarded: what the target does not take by its
    rules; a schema change among it is a step that only logs a warning. ends_as: by id, tables that the program suspends
    or ends the suspension of, as they are at its end. stop_at: the table's id and the change that `stop` is about.
    stays_at: the target's position, when the program only brings some suspended tables up to it. suspension: of these
    tables; None: it is a program for the other ones.
    """

    low: Position
    high: Position
    slices: tuple[Slice, ...]
    steps: tuple[ProgramStep, ...]
    table_states: Mapping[int, TableState]
    stop: TablePlan | None = None
    discarded: tuple[Discarded, ...] = ()
    ends_as: Mapping[int, TableState] = field(default_factory=dict)
    stop_at: tuple[int, LogKey] | None = None
    stays_at: Position | None = None
    suspension: Suspension | None = None

    @property
    def move(self) -> tuple[Position, Position]:
        """Return the position of the target before the program, and after it."""
        return (self.low, self.high) if self.stays_at is None else (self.stays_at, self.stays_at)

    def on_the_way(self, after: TableState) -> TableState:
        """Return how a target stores a table that a step has changed, where it can't store it with the program's end.

        A table that is brought up stays suspended until then: it would miss the rest of the program after a kill.
        """
        if self.suspension is None:
            return after
        return replace(after, state=TableStatus.SUSPENDED, suspension=replace(self.suspension, status=after.state))

    @property
    def first_commit(self) -> Position:
        """Return the position after the first change that must be committed before rows can use it (a new enum label).

        `high` when there is none.
        """
        found = (s.event.end for s in self.steps if s.plan and any(part.own_transaction for part in s.plan.steps))
        return Position(min(found, default=self.high))

    @property
    def last_step(self) -> Position:
        """Return the position just after the last transaction that changes a shape; `low` when there is none."""
        return max((step.event.end for step in self.steps), default=self.low)

    @property
    def is_cut_by_rows(self) -> bool:
        """Does an earlier end, after which no event comes, leave out rows alone?"""
        return self.stop is None and self.stays_at is None and not self.discarded and not self.ends_as

    def cut(self, high: Position) -> Program:
        """Return the program with an earlier end, after which only rows come."""
        end = LogKey(high, START_OF_TRANSACTION)
        slices = (one if one.high <= end else replaced(one, high=end) for one in self.slices if one.low < end)
        return replace(self, high=high, slices=tuple(slices))

    @property
    def statements(self) -> Iterator[list[ProgramStep]]:
        """Yield the steps of each statement of the source together, in log order: a target makes them all at once."""
        for _, group in groupby(self.steps, key=lambda step: step.key):
            yield list(group)

    @property
    def is_sent_together(self) -> bool:
        """Are its statements several ones that need no results of each other: rows and plain changes of tables?"""
        plans = [step.plan for step in self.steps if step.plan is not None]
        waits = any(step.truncates or step.runs_text for step in self.steps)
        return len({step.key for step in self.steps}) > 1 and not (
            waits or any(part.replaces for plan in plans for part in plan.steps)
        )

    @property
    def past_refreshes(self) -> dict[int, TableState]:
        """Return by id, without what it knows of that, each table whose last refresh is before the program's end."""
        found = {i: s.past(self.high) for i, s in self.table_states.items() if s.state is not TableStatus.SUSPENDED}
        return {i: s for i, s in found.items() if s is not self.table_states[i]}

    @property
    def does_anything(self) -> bool:
        """Does the program move the target's position or change a table?"""
        return self.high > self.low or bool(self.steps) or bool(self.ends_as)
