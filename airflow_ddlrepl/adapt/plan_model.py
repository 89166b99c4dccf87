"""A plan says what one target does about one changed table: a value that can be read, approved, stored and run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS, TableSettings
from airflow_ddlrepl.model.table import Table


class StepKind(StrEnum):
    """A step's kind says what is done.

    sql: run statements. refresh: reload the table. control: stop here until a person has acted. warn: log a warning.
    refuse: report that the change can't be made.
    """

    SQL = "sql"
    REFRESH = "refresh"
    CONTROL = "control"
    WARN = "warn"
    REFUSE = "refuse"


class Omission(StrEnum):
    """An omission says what the target does without when a change leads to a warning only.

    ROWS: a policy says WARNING, so rows may differ from the source's. CHANGE: the target's rules discard the change.
    """

    NOTHING = ""
    ROWS = "rows"
    CHANGE = "change"


@dataclass(frozen=True, slots=True)
class Step:
    """A step is one thing that a plan does. why: the change or reason, for people.

    policy: who decided, e.g. "on_enroll_break=REFRESH". own_transaction: must be committed before the rest (a new enum
    label). shared: other tables' plans for the same DDL may hold the same step; run equal ones once. replaces: when it
    ends, another table is in the place of this one. omits: what the target does without. rows: the condition for those
    that a refresh replaces; empty: all.
    """

    kind: StepKind
    why: str
    sql: tuple[str, ...] = ()
    policy: str = ""
    own_transaction: bool = False
    shared: bool = False
    replaces: bool = False
    code: str = ""
    hint: str = ""
    omits: Omission = Omission.NOTHING
    rows: str = ""

    @property
    def is_reload(self) -> bool:
        """Is it a refresh of the whole table, for which the table has to wait?"""
        return self.kind is StepKind.REFRESH and not self.rows

    def to_json(self) -> dict[str, Any]:
        """Return the step as a JSON object for `ddlrepl plan --json`, without `omits`."""
        return {name: value for name, value in asdict(self).items() if name != "omits"}


@dataclass(frozen=True, slots=True)
class Executed:
    """A target ran this statement for a schema change. table: at the source. at: the change's log position."""

    table: str
    at: str
    sql: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected shape is what a replayed text must have made of the target's table; None: the table is gone.

    free: columns whose default at the target may differ from the shape's. before: names of the columns that the
    target's table had by the channel before the text ran; any other column that is found there was added by people.
    """

    shape: Table | None
    free: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table's plan is what has to happen to one target table because its source table changed.

    name: at the source. target: name at the target afterwards. changes: what was found, as text. shape: of the
    target table afterwards, columns with the source's ids; None when the table is dropped there. is_removed: the
    channel has no such table at the target any more. is_orphaned: dropped at the source, left at the target.
    until_refresh: the shape that the table has until the refresh brings `shape`, when that is another one.
    settings: the channel file's for the table at the target. expected: the
    source's text runs, and must lead to this. left_at_source: those of the hazards that a run of the source's text
    would not have. losses: those by which values are lost at the target. is_made_anew: the table is a new one at
    the target under another name. orphan: the table that stays there although the source's table has another name
    now. is_text_alone: the source's text runs, for a table that the channel does not have at the target.
    """

    name: TableName
    target: TableName
    changes: tuple[str, ...]
    evidence: tuple[str, ...]
    steps: tuple[Step, ...]
    hazards: tuple[str, ...]
    shape: Table | None
    is_removed: bool = False
    is_orphaned: bool = False
    until_refresh: Table | None = None
    settings: TableSettings = NO_SETTINGS
    expected: Expected | None = None
    left_at_source: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    is_made_anew: bool = False
    orphan: Table | None = None
    is_text_alone: bool = False

    @property
    def drops_table(self) -> bool:
        """Is the target's table dropped, with its rows?"""
        return self.is_removed and self.orphan is None

    @property
    def needs_refresh(self) -> bool:
        """Does the plan ask for a refresh of the whole table?"""
        return any(s.is_reload for s in self.steps)

    @property
    def refreshed_rows(self) -> str:
        """Return the condition for the rows of the table that a refresh is asked for; empty: there is none."""
        return next((s.rows for s in self.steps if s.rows), "")

    @property
    def stops(self) -> bool:
        """Must a person act before anything of this plan runs?"""
        return any(s.kind in (StepKind.CONTROL, StepKind.REFUSE) for s in self.steps)

    @property
    def changes_anything(self) -> bool:
        """Does the plan have a change or a step?"""
        return bool(self.changes or self.steps)

    @property
    def sql(self) -> tuple[str, ...]:
        """Return all SQL statements of the plan, in the order in which they run."""
        return tuple(statement for s in self.steps for statement in s.sql)

    @property
    def policies(self) -> tuple[str, ...]:
        """Return the policies that decided the plan's steps, each once."""
        return tuple(dict.fromkeys(s.policy for s in self.steps if s.policy))

    def refusal(self, at: object = None) -> CannotAdapt | None:
        """Return the first refused step as an error at log position `at`; None: no step is refused."""
        for step in self.steps:
            if step.kind is StepKind.REFUSE:
                return CannotAdapt(step.why, code=step.code, table=self.name, at=at, hint=step.hint)
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object for `ddlrepl plan --json`; the shape is left out."""
        return {
            "table": str(self.name),
            "target": str(self.target),
            "changes": list(self.changes),
            "evidence": list(self.evidence),
            "policies": list(self.policies),
            "steps": [step.to_json() for step in self.steps],
            "hazards": list(self.hazards),
            "needs_refresh": self.needs_refresh,
            "stops": self.stops,
        }
