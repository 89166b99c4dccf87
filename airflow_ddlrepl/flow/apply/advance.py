"""Adapt brings every target through its schema changes; the way to bring one on is also that of integrate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import replace

from airflow_ddlrepl.adapt.plan_model import Executed
from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.program.suspend import Suspensions
from airflow_ddlrepl.adapt.target_facts import Refusal
from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.errors import (
    AlterRefused,
    CannotAdapt,
    DdlReplError,
    ForeignKeyBroken,
    ServerRefusal,
    TargetError,
    UnreadableRows,
)
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.pending_log import Attempt, PendingLog, pending_log
from airflow_ddlrepl.flow.apply.replicat import code_of, wait
from airflow_ddlrepl.flow.apply.suspension import suspend_for, suspends
from airflow_ddlrepl.flow.apply.tables_of_changes import apply_with_changes
from airflow_ddlrepl.flow.apply.transaction import raise_stop, reason, shown
from airflow_ddlrepl.flow.capture.recapture import reread_where_lost
from airflow_ddlrepl.flow.mapping.misplaced import misplaced
from airflow_ddlrepl.flow.refresh.requests import reload_unreadable
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import has_unrecorded, record
from airflow_ddlrepl.flow.run.remedies import remedy_for
from airflow_ddlrepl.flow.run.results import Adapted
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import ADAPT
from airflow_ddlrepl.flow.targets.apply_interval import apply_wait, applying
from airflow_ddlrepl.flow.targets.readiness import has_new_target, prepared_targets, ready_targets
from airflow_ddlrepl.goldengate.ddl_errors import Handling
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableStatus

MOST_STATEMENTS = 200
"""A result lists this many of the executed statements, and this many characters of each; the log has all of it."""


@stage(ADAPT)
def adapt(run: RunContext, until: Position | None = None) -> Adapted:
    """Bring every target just past its last schema change: rows and changes in log order. until: not beyond it.

    A target that waits by `apply_every` stays where it is, unless `until` says how far to go. Every other one goes as
    far as it can. Raises ControlStop or CannotAdapt where a person has to decide; everything before that is applied.
    """
    started = time.monotonic()
    total = Applied()
    refreshes: dict[str, str] = {}
    waiting: dict[str, dict[str, str]] = {}
    isolation = FailureIsolation()
    for target in prepared_targets(run, until):
        with isolation.one(target.name):
            if until is None and (wait := apply_wait(run, target.name)) is not None:
                waiting[target.name] = wait.to_json()
                continue
            with applying(run, target.name):
                program = bring(run, target.name, _to_last_change, total, until)
            latest, at = run.repository.latest_revisions(run.channel.name), run.channel.at(target.name)
            for table_id, table_state in program.table_states.items():
                if why := misplaced(at, table_state, latest.get(table_id)):
                    total.warnings.append(f"target {target.name}: {table_state.name}: {why}")
                if table_state.state is TableStatus.PENDING:
                    refreshes[str(table_state.name)] = reason(program, table_id)
            raise_stop(run, target.name, program)
    for note in dict.fromkeys(total.notes):
        log.info("%s", note)
    for warning in total.warnings:
        log.warning("%s", warning)
    isolation.end()
    seconds = round(time.monotonic() - started, 2)
    return Adapted(
        dict(total.changes),
        total.statements,
        refreshes,
        tuple(dict.fromkeys(total.warnings)),
        dict(total.rows),
        seconds,
        dict(total.discarded),
        dict(run.targets.new),
        executed(total),
        dict(total.conflicts),
        waiting,
    )


def executed(total: Applied) -> tuple[Executed, ...]:
    """Return the statements that were run, as a result shows them: without passwords, and cut where there are many."""
    return tuple(replace(one, sql=shown(one.sql)) for one in total.executed[:MOST_STATEMENTS])


def bring(
    run: RunContext,
    target: str,
    wanted: Callable[[PendingLog], Program],
    total: Applied,
    until: Position | None,
    only: Container[int] | None = None,
) -> Program:
    """Apply the wanted program at a target, with a commit after each change that must be committed before its use.

    wanted: makes the program from the pending log. only: ids of the tables that it is about; None: all of the channel.
    """
    claim(run, target)
    record(run, target)
    is_on = only is None and suspends(run.channel.at(target))
    return bring_claimed(run, target, wanted, total, lambda: Attempt(until, only, suspensions=Suspensions(is_on)))


def bring_claimed(
    run: RunContext,
    target: str,
    wanted: Callable[[PendingLog], Program],
    total: Applied,
    attempt: Callable[[], Attempt],
) -> Program:
    """Apply the wanted program at a target that this run has claimed.

    attempt: returns a new attempt; each commit begins with one.
    """
    while True:
        program, is_whole, applied = reread_where_lost(run, lambda: _advance(run, target, wanted, attempt()))
        for name, part in applied:
            add_applied(total, part, name)
        if is_whole:
            return program
        reach("integrate.first_commit")


def _advance(
    run: RunContext,
    target: str,
    wanted: Callable[[PendingLog], Program],
    attempt: Attempt,
) -> tuple[Program, bool, list[tuple[str, Applied]]]:
    """Run one transaction at the target; return its program, whether it is all that is wanted, and what was applied.

    What the target refuses there is planned once more; a table whose rows it can't read waits for a refresh. Where its
    foreign keys are looked at, rows of one table that go before its change may need those of another; and a change may
    make the table that waits, or give it its name: then everything before the change is brought first, then the change.
    So it is where the target refuses a source's text, which may look at rows of other tables.

    A table that the target refuses all the same is suspended, where the channel file says so.
    """
    while True:
        ahead = pending_log(run, target, attempt=attempt)
        program = wanted(ahead)
        first = program.first_commit if attempt.nearest is None else min(attempt.nearest, program.first_commit)
        is_whole = first >= program.high
        if not is_whole:
            program = ahead.program(first)
        try:
            return program, is_whole, apply_with_changes(run, ahead, program, attempt) if program.does_anything else []
        except (TargetError, CannotAdapt, ServerRefusal) as error:
            if not _is_worth_another_try(run, ahead, program, attempt, error) and not suspend_for(
                run, ahead, program, attempt.suspensions, error
            ):
                raise


def _is_worth_another_try(
    run: RunContext, ahead: PendingLog, program: Program, attempt: Attempt, error: DdlReplError
) -> bool:
    """Note in the attempt what the target has refused; return whether it may take the program with that."""
    if isinstance(error, AlterRefused):
        if error.on in attempt.refused:
            return False
        at = Position(error.on[1].lsn)
        if error.is_text and program.low < at and (attempt.nearest is None or at < attempt.nearest):
            attempt.nearest = at
            return True
        log.warning("%s: %s", error.table, error.message)
        why = error.message
        if ahead.replicat is not None and error.is_text:
            found = ahead.replicat.error_response(error.on[1], code_of(error), attempt.tried(error.on[1]))
            if found is not None and found.handling is Handling.RETRY:
                wait(run, found)
                return True
            why = f"{why}; {found.why}" if found is not None else why
        attempt.suspensions.help(error.on[0], remedy_for(run, error))
        attempt.refused[error.on] = Refusal(why, error.by_rows, code_of(error))
        return True
    if isinstance(error, UnreadableRows) and reload_unreadable(run, ahead.target, error):
        log.warning("%s waits to be loaded again: %s: %s", error.table, error.code, error.message)
        return True
    if isinstance(error, UnreadableRows | ForeignKeyBroken):
        attempt.nearest = _nearest_change(program)
        return attempt.nearest is not None
    return False


def _nearest_change(program: Program) -> Position | None:
    """Return the position before the first change of a shape, or right after it; None: there is nothing between."""
    edges = (edge for step in program.steps for edge in (Position(step.key.lsn), step.event.end))
    return min((edge for edge in edges if program.low < edge < program.high), default=None)


def to_the_end(ahead: PendingLog) -> Program:
    """Return the program of all log that is captured."""
    return ahead.program(ahead.high)


def _to_last_change(ahead: PendingLog) -> Program:
    """Return the program up to just after the last schema change; where a person has to decide, right up to there."""
    if ahead.has_rows_alone:
        return ahead.program(ahead.low)
    whole = ahead.program(ahead.high)
    if whole.stop is not None:
        return whole
    return replace(ahead.shortened(whole, whole.last_step), stop=None)


def has_changes(run: RunContext) -> bool:
    """Does any target have a schema change to apply or to record, or is one new? Reads control records only."""
    run.captured()
    if has_new_target(run) or any(has_unrecorded(run, target.name) for target in ready_targets(run)):
        return True
    return any(_to_last_change(ahead).does_anything for ahead in pending_logs(run))


def pending_logs(run: RunContext) -> list[PendingLog]:
    """Return the pending log of every target that is prepared and does not wait by `apply_every`."""
    return [pending_log(run, one.name) for one in ready_targets(run) if apply_wait(run, one.name) is None]


def add_applied(total: Applied, part: Applied, target: str) -> None:
    """Add what was applied at a target to what was applied before."""
    total.rows += Counter(part.rows)
    total.changes += Counter(part.changes)
    total.statements += part.statements
    total.warnings += part.warnings
    total.warnings += [f"target {target}: {loss}" for loss in part.losses]
    total.notes += [f"target {target}: {note}" for note in part.notes]
    total.discarded += part.discarded
    total.conflicts += part.conflicts
    total.executed += part.executed
