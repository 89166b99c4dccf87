"""A target with `history: both` has a second table of each, with its changes: both are brought on in one moment."""

from __future__ import annotations

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.program.suspend import Suspensions
from airflow_ddlrepl.config.sections.places import beside
from airflow_ddlrepl.config.sections.policies import History
from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.errors import CannotAdapt, ServerRefusal, TargetError
from airflow_ddlrepl.flow.apply.pending_log import Attempt, PendingLog, pending_log
from airflow_ddlrepl.flow.apply.suspension import suspends
from airflow_ddlrepl.flow.apply.transaction import apply, apply_together
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.outbox import record


def apply_with_changes(
    run: RunContext, ahead: PendingLog, program: Program, attempt: Attempt
) -> list[tuple[str, Applied]]:
    """Apply a program, and that of the target's tables of changes where these stand at the same position.

    Return what was applied by the name of the target. What is refused of the two together is applied one by one: then
    the tables of changes follow by a program of their own, in the same run where they can.
    """
    second = _second(run, ahead, program, attempt)
    if second is not None:
        try:
            done = apply_together(run, [(ahead, program), second])
        except (TargetError, CannotAdapt, ServerRefusal) as error:
            log.warning("target %s: rows and changes are not applied together: %s", ahead.target, error.message)
        else:
            return list(zip((ahead.target, second[0].target), done, strict=True))
    return [(ahead.target, apply(run, ahead, program))]


def has_second_tables(run: RunContext, target: str) -> bool:
    """Has a target of the channel file a second table of each, with its changes?"""
    return any(one.name == target and one.history is History.BOTH for one in run.channel.targets)


def _second(
    run: RunContext, ahead: PendingLog, program: Program, attempt: Attempt
) -> tuple[PendingLog, Program] | None:
    """Return the program of the tables of changes from and to the same positions; None: there is none."""
    if not has_second_tables(run, ahead.target) or attempt.only is not None or attempt.catch_up is not None:
        return None
    (name,) = beside(ahead.target, run.channel.targets)
    there = run.target(name).find_state()
    if there is None or there.lsn != program.low:
        return None
    claim(run, name)
    record(run, name)
    suspensions = Suspensions(suspends(run.channel.at(name)))
    behind = pending_log(run, name, attempt=Attempt(attempt.until, suspensions=suspensions))
    found = behind.program(program.high)
    return (behind, found) if found.high == program.high <= found.first_commit else None
