"""This module runs a program on staged tables of a lake, and makes all of it visible in one transaction.

The transaction also moves the position and writes the tables' states, so that a killed run has done all or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.plan_model import Executed, StepKind
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.errors import explained, line
from airflow_ddlrepl.engines.lake.ddl.render import LakeDdl
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.target.state import write_table_states
from airflow_ddlrepl.engines.target_state import Applied, StagedSlice
from airflow_ddlrepl.errors import AlterRefused, DdlReplError, identified
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.position import LogKey, Position


def stage_program(window: Window, program: Program, slices: Sequence[StagedSlice]) -> Applied:
    """Make a program's changes in a window, where nobody sees them.

    Raises RowsRefused INT-… when rows don't fit, AlterRefused ADP-130 when a statement is refused.
    """
    staging = _Staging(window, slices)
    for steps in program.statements:
        staging.merge_before(steps)
        staging.change(steps)
    staging.merge_rest()
    return staging.applied


def write_states(connection: Connection, channel: str, program: Program) -> None:
    """Write the states that tables have after a program, in the open transaction."""
    touched = {step.table_id for step in program.steps}
    states = {i: one for i, one in program.table_states.items() if i in touched}
    gone = touched - program.table_states.keys() - {NO_TABLE}
    write_table_states(connection, channel, {**states, **program.past_refreshes, **program.ends_as}, gone)


class _Staging:
    """A staging is one pass through a program."""

    def __init__(self, window: Window, slices: Sequence[StagedSlice]) -> None:
        self.window = window
        self.waiting = sorted(slices, key=lambda one: one.piece.low)
        self.applied = Applied()
        self._done: set[tuple[LogKey, tuple[str, ...]]] = set()

    def merge_before(self, steps: Sequence[ProgramStep]) -> None:
        """Merge the rows of these tables that come before the statement in the log."""
        ids, key = {step.table_id for step in steps}, steps[0].key
        self._merge([one for one in self.waiting if one.piece.table_id in ids and one.piece.high <= key])

    def merge_rest(self) -> None:
        """Merge all remaining rows."""
        self._merge(list(self.waiting))

    def _merge(self, due: Sequence[StagedSlice]) -> None:
        for one in due:
            self.waiting.remove(one)
            name = one.piece.name
            with identified({str(name): one.piece.table_id}):
                for number in sorted(one.sections):
                    staged = self.window.table(name)
                    part = one.sections[number]
                    self.applied.rows.update(merge(self.window.spark, staged, name, one.piece.target, part))
        if due:
            reach("integrate.rows")

    def change(self, steps: Sequence[ProgramStep]) -> None:
        """Run one statement of the source: truncates first, then what each table's plan says."""
        for step in steps:
            if step.truncates and step.before is not None:
                shape = step.before.shape.with_(name=step.before.name)
                self._run(step, LakeDdl().sql(Truncate(restart_identity=False), shape))
        for step in steps:
            self.applied.count(step)
            parts = [part for part in (step.plan.steps if step.plan else ()) if part.kind is StepKind.SQL]
            wanted = [part.sql for part in parts if not part.shared or self._is_first(step, part.sql)]
            self._run(step, list(chain(*wanted)))

    def _is_first(self, step: ProgramStep, sql: tuple[str, ...]) -> bool:
        """Return whether these statements of a step, which several tables share, have not run yet; they run once."""
        is_first = (step.key, sql) not in self._done
        self._done.add((step.key, sql))
        return is_first

    def _run(self, step: ProgramStep, statements: Sequence[str]) -> None:
        """Run the statements that change one table."""
        for statement in statements:
            with _refusals(step, statement):
                run(self.window, statement)
            self.applied.statements += 1
            table = str(step.plan.name) if step.plan else ""
            self.applied.executed.append(Executed(table, str(Position(step.key.lsn)), statement))
            reach("integrate.altered")


@contextmanager
def _refusals(step: ProgramStep, statement: str) -> Iterator[None]:
    """Raise AlterRefused ADP-130 for what Spark or Iceberg refuses inside the `with`."""
    try:
        yield
    except DdlReplError:
        raise
    except Exception as error:
        known = explained(error)
        if known is None:
            raise
        raise AlterRefused(
            f"the target refuses to run {statement}: {line(error)}",
            on=(step.table_id, step.key),
            by_rows=False,
            code="ADP-130",
            table=step.plan.name if step.plan else None,
            at=step.key,
            hint="nothing of this run is visible; was the table changed by somebody else?",
        ) from None
