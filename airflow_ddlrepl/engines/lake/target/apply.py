"""This module runs a program on staged tables of a lake, and makes all of it visible in one transaction.

The transaction also moves the position and writes the tables' states, so that a killed run has done all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program, ProgramStep, Slice
from airflow_ddlrepl.engines.lake.catalog.window import POSITION, SHAPE, Window
from airflow_ddlrepl.engines.lake.connection.errors import explained, line
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.ddl.needing_rows import needs_rows
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.merge.netted_sections import Section, netted_sections
from airflow_ddlrepl.engines.lake.merge.retained_rows import RETAINED
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.lake.target.discarded_rows import clear, replace_rows
from airflow_ddlrepl.engines.lake.target.own_snapshots import shape_digest
from airflow_ddlrepl.engines.lake.target.side_by_side import side_by_side
from airflow_ddlrepl.engines.lake.target.state import write_table_states
from airflow_ddlrepl.engines.target_state import StagedSlice
from airflow_ddlrepl.engines.transactional.program_pass import ProgramPass
from airflow_ddlrepl.errors import AlterRefused, DdlReplError, identified
from airflow_ddlrepl.integrate.ready_rows import LeftOut
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import replaced
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MERGES_PER_CORE = 2
"""So many merges run at a time for each task that Spark runs at once: one is planned while another one writes."""


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


def summaries(
    programs: Iterable[Program], tables: Collection[TableName], epoch: int
) -> dict[TableName, dict[str, str]]:
    """Return what the snapshots of these tables say of themselves, which programs bring to their ends.

    A table that a load has brought further than its program says no position: it has some of what comes behind it.
    """
    found = {}
    for program in programs:
        for one in {**program.table_states, **program.ends_as}.values():
            after = one.past(program.high)
            is_further = after.snapshot is not None or (after.partial is not None and after.partial.until is not None)
            if one.name in tables and one.state in (TableStatus.LIVE, TableStatus.SUSPENDED) and not is_further:
                found[one.name] = {POSITION: str(int(program.high)), SHAPE: shape_digest(one, epoch)}
    return found


class Staging(ProgramPass):
    """A staging is one pass through a program.

    discards: what it changes in the queue of discarded rows, in the transaction that makes its changes visible.
    """

    def __init__(self, window: Window, slices: Sequence[StagedSlice]) -> None:
        super().__init__(slices)
        self.window = window
        self._now: dict[int, TableState] = {}
        self.discards: list[Callable[[Connection, str], None]] = []
        self._counting = Lock()

    @cached_property
    def _spark(self) -> SparkSession:
        """Return the session: a thread that merges would not find the one that is active."""
        return self.window.spark

    def needs_rows(self, step: ProgramStep) -> bool:
        return needs_rows(step)

    def merge_all(self, due: Sequence[StagedSlice]) -> None:
        """Merge the slices of different tables side by side, and those of one table in their order."""
        tables: dict[int, list[StagedSlice]] = {}
        for one in due:
            tables.setdefault(one.piece.table_id, []).append(one)
        pieces = {table_id: self._as_now(slices[-1].piece) for table_id, slices in tables.items()}
        with identified({str(piece.name): table_id for table_id, piece in pieces.items()}):
            self.window.stage([piece.name for piece in pieces.values()])
        threads = MERGES_PER_CORE * self._spark.sparkContext.defaultParallelism
        side_by_side(self._merge_table, [(pieces[table_id], slices) for table_id, slices in tables.items()], threads)

    def merge(self, piece: Slice, part: Sequence[Staged]) -> None:
        staged = self.window.table(piece.name)
        done = merge(self._spark, staged, piece.name, piece.target, part)
        with self._counting:
            self._discard(piece, part)
            self.applied.rows.update(done)

    def _merge_table(self, work: tuple[Slice, Sequence[StagedSlice]]) -> None:
        """Merge the slices of a table, in their order. The table's name and columns are those of the first value."""
        piece, slices = work
        sections = [Section(one.piece.target, one.sections[n]) for one in slices for n in sorted(one.sections)]
        with identified({str(piece.name): piece.table_id}):
            with file_refusals(piece.name):
                netted = netted_sections(sections, piece.target, self.window.files)
            for section in netted:
                self.merge(piece, section)

    def _as_now(self, piece: Slice) -> Slice:
        """Return a slice with the name and the columns that its table has after the steps which have run."""
        now = self._now.get(piece.table_id)
        return piece if now is None else replaced(piece, name=now.name, target=now.shape)

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
        if step.after is not None:
            self._now[step.table_id] = step.after


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
