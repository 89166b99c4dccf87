"""This module runs a program on staged tables of a lake, and makes all of it visible in one transaction.

The transaction also moves the position and writes the tables' states, so that a killed run has done all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep, Slice
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.errors import explained, line
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.merge.retained_rows import RETAINED
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.lake.target.discarded_rows import clear, replace_rows
from airflow_ddlrepl.engines.lake.target.state import write_table_states
from airflow_ddlrepl.engines.target_state import StagedSlice
from airflow_ddlrepl.engines.transactional.program_pass import ProgramPass
from airflow_ddlrepl.errors import AlterRefused, DdlReplError
from airflow_ddlrepl.integrate.ready_rows import LeftOut


def stage_program(window: Window, program: Program, slices: Sequence[StagedSlice]) -> Staging:
    """Make a program's changes in a window, where nobody sees them.

    Raises RowsRefused INT-… when rows don't fit, AlterRefused ADP-130 when a statement is refused.
    """
    staging = Staging(window, slices)
    staging.run(program)
    window.commit()
    return staging


def write_states(connection: Connection, channel: str, program: Program) -> None:
    """Write the states that tables have after a program, in the open transaction."""
    touched = {step.table_id for step in program.steps}
    states = {i: one for i, one in program.table_states.items() if i in touched}
    gone = touched - program.table_states.keys() - {NO_TABLE}
    write_table_states(connection, channel, {**states, **program.past_refreshes, **program.ends_as}, gone)


class Staging(ProgramPass):
    """A staging is one pass through a program.

    discards: what it changes in the queue of discarded rows, in the transaction that makes its changes visible.
    """

    def __init__(self, window: Window, slices: Sequence[StagedSlice]) -> None:
        super().__init__(slices)
        self.window = window
        self.discards: list[Callable[[Connection, str], None]] = []

    def merge(self, piece: Slice, part: Sequence[Staged]) -> None:
        self._discard(piece, part)
        staged = self.window.table(piece.name)
        self.applied.rows.update(merge(self.window.spark, staged, piece.name, piece.target, part))

    def _discard(self, piece: Slice, part: Sequence[Staged]) -> None:
        """Note the rows that do not fit the table's columns, and tell of them and of values that became NULL."""
        for left in (one.left_out for one in part):
            if left.settled or left.discarded:
                self.discards.append(partial(_replace_rows, piece.table_id, left))
            self.applied.discarded.update({f"{piece.name}:{why}": count for why, count in left.warnings.items()})

    def truncate(self, steps: Sequence[ProgramStep]) -> None:
        if steps:
            self.discards.append(partial(_clear, [step.table_id for step in steps]))
        for step in steps:
            assert step.before is not None
            self.alter(step, RETAINED.truncating(step, step.before))

    def alter(self, step: ProgramStep, statements: Sequence[str]) -> None:
        for statement in statements:
            with _refusals(step, statement):
                run(self.window, statement)
            self.note(step, statement)


def _replace_rows(table_id: int, left: LeftOut, connection: Connection, channel: str) -> None:
    replace_rows(connection, channel, table_id, left.settled, left.discarded)


def _clear(table_ids: Sequence[int], connection: Connection, channel: str) -> None:
    clear(connection, channel, table_ids)


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
