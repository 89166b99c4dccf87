"""This module goes through a program in the order of the log, for targets that apply all of it in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any

from airflow_ddlrepl.adapt.plan_model import Executed, StepKind
from airflow_ddlrepl.adapt.program.program import Program, ProgramStep, Slice
from airflow_ddlrepl.engines.target_state import Applied, StagedSlice
from airflow_ddlrepl.errors import identified
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.position import LogKey, Position


class ProgramPass(ABC):
    """A pass merges the rows of tables, and changes tables, each at its place in the log. applied: what was done."""

    def __init__(self, slices: Sequence[StagedSlice]) -> None:
        self.applied = Applied()
        self._waiting = sorted(slices, key=lambda one: one.piece.low)
        self._done: set[tuple[LogKey, tuple[str, ...]]] = set()

    def run(self, program: Program) -> None:
        """Go through a program: the rows in front of each statement, the statement, and at last the other rows."""
        for steps in program.statements:
            if any(map(self.needs_rows, steps)):
                ids, key = {step.table_id for step in steps}, steps[0].key
                self._merge([one for one in self._waiting if one.piece.table_id in ids and one.piece.high <= key])
            self.truncate([step for step in steps if step.truncates and step.before is not None])
            self._change(steps)
        self._merge(list(self._waiting))

    def needs_rows(self, step: ProgramStep) -> bool:
        """Must the rows in front of a step be merged before it? Where not, they may be merged at any time after it."""
        return True

    @abstractmethod
    def merge(self, piece: Slice, part: Sequence[Any]) -> None:
        """Merge the staged rows of one section of a table, and count them."""

    @abstractmethod
    def truncate(self, steps: Sequence[ProgramStep]) -> None:
        """Remove the rows of these tables, which one statement has truncated. Their `before` is there."""

    @abstractmethod
    def alter(self, step: ProgramStep, statements: Sequence[str]) -> None:
        """Run the statements that change one table, and `note` each."""

    def note(self, step: ProgramStep, statement: str) -> None:
        """Note a statement that was run."""
        self.applied.statements += 1
        table = str(step.plan.name) if step.plan else ""
        self.applied.executed.append(Executed(table, str(Position(step.key.lsn)), statement))
        reach("integrate.altered")

    def merge_all(self, due: Sequence[StagedSlice]) -> None:
        """Merge slices, in the order of the log. No schema change lies between those of one table, nor of several."""
        for one in due:
            self.merge_slice(one)

    def merge_slice(self, one: StagedSlice) -> None:
        """Merge the sections of a slice, in their order."""
        with identified({str(one.piece.name): one.piece.table_id}):
            for number in sorted(one.sections):
                self.merge(one.piece, one.sections[number])

    def _merge(self, due: Sequence[StagedSlice]) -> None:
        for one in due:
            self._waiting.remove(one)
        if due:
            self.merge_all(due)
            reach("integrate.rows")

    def _change(self, steps: Sequence[ProgramStep]) -> None:
        """Run what each table's plan says about one statement of the source."""
        for step in steps:
            self.applied.count(step)
            parts = [part for part in (step.plan.steps if step.plan else ()) if part.kind is StepKind.SQL]
            wanted = [part.sql for part in parts if not part.shared or self._is_first(step, part.sql)]
            self.alter(step, list(chain(*wanted)))

    def _is_first(self, step: ProgramStep, sql: tuple[str, ...]) -> bool:
        """Return whether these statements of a step, which several tables share, have not run yet; they run once."""
        is_first = (step.key, sql) not in self._done
        self._done.add((step.key, sql))
        return is_first
