"""This module applies a program in pieces, for targets that can't commit rows, schema changes and position together.

Rows are committed with the position of their table (or of all their tables, where one commit can hold them), and each
schema change goes through the ledger. After a kill anywhere, the next run goes on from where each table has come to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from airflow_ddlrepl.adapt.plan_model import Executed, StepKind
from airflow_ddlrepl.adapt.program.program import Program, ProgramStep
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.engines.ledger import Ledger, LedgerEntry, run_entry
from airflow_ddlrepl.engines.target_state import Applied, Capabilities, Fence, RecordAt, StagedSlice
from airflow_ddlrepl.errors import AlterRefused, identified
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table_state import TableState


@dataclass(frozen=True, slots=True)
class Arrival:
    """An arrival says that a target has come to the end of a program: its position, changed table states, records.

    position: before and after. states: of the tables whose state is another one now, by id.
    """

    position: tuple[Position, Position]
    states: Mapping[int, TableState]
    records: Sequence[Record]


class PiecewiseTarget(Protocol):
    """A piecewise target takes a program in pieces; this is what it must be able to do for that."""

    capabilities: Capabilities

    @property
    def ledger(self) -> Ledger:
        """Return the ledger, in which schema changes are noted before they are made."""
        ...

    def renderer(self) -> Renderer:
        """Return the renderer, which writes the target's DDL."""
        ...

    def merge(self, due: Sequence[StagedSlice], fence: Fence) -> Mapping[str, int]:
        """Merge slices, in order, and store the end of each as the position of its table: all or nothing.

        Returns how many rows, as `Applied.rows` counts them. Raises Fenced LCK-102, TargetError INT-….
        """
        ...

    def move_position(self, arrival: Arrival, fence: Fence) -> None:
        """Move the target's position to the end of the program: all or nothing. Raises Fenced LCK-102."""
        ...


def apply_in_pieces(
    target: PiecewiseTarget, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
) -> Applied:
    """Apply a program in pieces, which brings a target from program.low to program.high.

    What a killed run has done of it is not in the program any more.
    Raises what `engines.target.Target.apply` raises. What came before a refused change stays applied.
    """
    applied = Applied()
    waiting = list(slices)
    left = sorted(records, key=lambda one: one.key)
    for steps in program.statements:
        key = steps[0].key
        ids = {step.table_id for step in steps}
        due = [one for one in waiting if one.piece.table_id in ids and one.piece.high <= key]
        _merge(target, due, applied, fence)
        taken = set(map(id, due))
        waiting = [one for one in waiting if id(one) not in taken]
        here = [one.record for one in left if one.key <= key]
        left = [one for one in left if one.key > key]
        _change(target, program, steps, here, applied, fence)
    _merge(target, waiting, applied, fence)
    target.move_position(
        Arrival(program.move, {**program.past_refreshes, **program.ends_as}, [one.record for one in left]), fence
    )
    reach("integrate.transaction")
    return applied


def _merge(target: PiecewiseTarget, due: Sequence[StagedSlice], applied: Applied, fence: Fence) -> None:
    """Merge the rows of all tables in one commit, or those of each table in its own, as the target can."""
    due = sorted(due, key=lambda one: one.piece.low)
    commits: dict[int, list[StagedSlice]] = {}
    for one in due:
        commits.setdefault(one.piece.table_id if target.capabilities.position_scope == "table" else 0, []).append(one)
    for part in commits.values():
        with identified({str(one.piece.name): one.piece.table_id for one in part}):
            applied.rows.update(target.merge(part, fence))
        reach("integrate.rows")


def _change(
    target: PiecewiseTarget,
    program: Program,
    steps: Sequence[ProgramStep],
    records: Sequence[Record],
    applied: Applied,
    fence: Fence,
) -> None:
    """Run one statement of the source at the target. A refusal is about the first of its tables that has a plan."""
    sql = list(_statements(target.renderer(), steps))
    last = {step.table_id: step.after for step in steps}
    entry = LedgerEntry(
        statements=tuple(statement for _, statement in sql),
        tables=_names(steps),
        states={i: program.on_the_way(after) for i, after in last.items() if after is not None},
        gone=tuple(i for i, after in last.items() if after is None),
        key=steps[0].key,
        records=tuple(records),
    )
    try:
        why = run_entry(target.ledger, entry, fence)
    except AlterRefused as error:
        first = sql[0][0]
        error.about_change(first.table_id, first.key)
        raise
    if why:
        applied.warnings.append(f"{', '.join(map(str, entry.tables))}: done in part, and loaded again: {why}")
        return
    for step in steps:
        applied.count(step)
    applied.statements += len(sql)
    for step, statement in sql:
        name = str(step.plan.name) if step.plan else ""
        applied.executed.append(Executed(name, str(Position(step.key.lsn)), statement))


def _statements(render: Renderer, steps: Sequence[ProgramStep]) -> Iterator[tuple[ProgramStep, str]]:
    """Yield the SQL to run, each with the step that it is of; what several tables share comes once."""
    shared: set[tuple[str, ...]] = set()
    for step in steps:
        if step.truncates and step.before is not None:
            restart = bool(step.event.settings.get("restart_identity"))
            for statement in render.sql(Truncate(restart), step.before.shape.with_(name=step.before.name)):
                yield step, statement
        for part in step.plan.steps if step.plan else ():
            if part.kind is StepKind.SQL and not (part.shared and part.sql in shared):
                shared.add(part.sql)
                for statement in part.sql:
                    yield step, statement


def _names(steps: Sequence[ProgramStep]) -> tuple[TableName, ...]:
    """Return the names of the tables before and after these steps, each once."""
    states = [state for step in steps for state in (step.before, step.after) if state is not None]
    return tuple(dict.fromkeys(state.name for state in states))
