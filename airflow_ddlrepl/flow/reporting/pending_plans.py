"""What each target would do about captured changes that it lacks is stored after a stage, for people who look at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Program
from airflow_ddlrepl.adapt.program.suspend import CatchUp, Suspensions, family, suspended
from airflow_ddlrepl.config.sections.location import redact, short_text
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.apply.pending_log import Attempt, PendingLog, pending_log, starting_points
from airflow_ddlrepl.flow.apply.suspension import suspends
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table_state import Suspension
from airflow_ddlrepl.repository.stored.health_rows import PlanRow

MOST_PLANS, MOST_STEPS = 10_000, 50
"""So many changes of a target are stored, and so many steps of each."""
MOST_TRIES = 10
"""So many suspended tables that are refused again are looked at one after another; of others nothing is planned."""

HOW = {StepKind.SQL: "sql", StepKind.REFRESH: "load", StepKind.CONTROL: "control", StepKind.REFUSE: "refused"}
NOTHING: dict[str, Any] = {"what": "", "steps": [], "more_steps": 0, "hazards": [], "losses": []}
Contents = dict[tuple[int, LogKey], dict[str, Any]]


def keep_plans(run: RunContext, targets: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the plans of all targets in place of those before; one that has all that is captured has none.

    targets: as the status has them. The plans of one that does not answer stay: it can't have moved since.
    """
    captured = run.captured()
    for target, known in targets.items():
        if known["unreachable"]:
            continue
        is_late = any(table["state"] == "suspended" for table in known["tables"])
        is_behind = known["position"] is not None and Position.parse(known["position"]) < captured
        rows: list[PlanRow] = []
        try:
            if is_behind:
                rows += _pending(run, target)
            if is_late:
                rows += _of_suspended(run, target)
        except DdlReplError as error:
            log.info("target %s: what is pending is not planned: %s", target, redact(str(error)))
            rows = []
        run.repository.set_plans(run.channel.name, target, rows[:MOST_PLANS])


def _pending(run: RunContext, target: str) -> list[PlanRow]:
    """Return the plan for what a target lacks, up to the change that a person has to deal with first."""
    attempt = Attempt(suspensions=Suspensions(suspends(run.channel.at(target))))
    ahead = pending_log(run, target, attempt=attempt)
    found = _contents(ahead.program(ahead.high))
    for table_id, why in (*attempt.suspensions.found.items(), *attempt.suspensions.not_created.items()):
        found[table_id, why.at] = _refused(why)
    return _rows(run, ahead, found, {})


def _of_suspended(run: RunContext, target: str) -> list[PlanRow]:
    """Return the plan for suspended tables; one whose change is refused again keeps no other from being planned."""
    now = run.target(target).state()
    left = {one.table_id for one in suspended(now.table_states)}
    rows: list[PlanRow] = []
    for _ in range(MOST_TRIES):
        catch = CatchUp(left, now.lsn)
        starts = starting_points(now, catch)
        if not starts:
            break
        ahead = pending_log(run, target, attempt=Attempt(now.lsn, catch_up=catch))
        program = ahead.program(ahead.high)
        found = _contents(program)
        if program.stop_at is None:
            return rows + _rows(run, ahead, found, starts)
        refused = family(now.table_states.values(), [program.stop_at[0]]) | {program.stop_at[0]}
        rows += _rows(run, ahead, {place: one for place, one in found.items() if place[0] in refused}, starts)
        left -= refused
    return rows


def _contents(program: Program) -> Contents:
    """Return what a program does, by table and change."""
    found: Contents = {}
    for step in program.steps:
        if step.table_id == NO_TABLE:
            continue
        if step.plan is not None and (step.plan.changes_anything or step.plan.is_orphaned):
            found[step.table_id, step.key] = _content(step.plan)
        elif step.truncates:
            found[step.table_id, step.key] = {**NOTHING, "how": "truncate", "what": "its rows are removed"}
    if program.stop is not None and program.stop_at is not None and program.stop_at[0] != NO_TABLE:
        found[program.stop_at] = _content(program.stop)
    return found


def _content(plan: TablePlan) -> dict[str, Any]:
    """Return a table's plan as JSON for people: cut, and without passwords."""
    steps = [_step(one) for one in plan.steps[:MOST_STEPS]]
    hows = [one["how"] for one in steps]
    first = next((how for how in ("refused", "control", "load", "sql", "left out") if how in hows), "unchanged")
    return {
        "how": first,
        "what": short_text("; ".join(plan.changes)),
        "steps": steps,
        "more_steps": max(0, len(plan.steps) - MOST_STEPS),
        "hazards": [short_text(one) for one in plan.hazards],
        "losses": [short_text(one) for one in plan.losses],
    }


def _step(step: Step) -> dict[str, Any]:
    how = "left out" if step.omits is not Omission.NOTHING else HOW.get(step.kind, "warning")
    return _shown_step(how, step.why, step.code, step.hint, step.sql, step.policy)


def _refused(why: Suspension) -> dict[str, Any]:
    """Return what becomes of a change that is refused: its table is suspended there."""
    step = _shown_step("refused", f"the table is suspended: {why.why}", why.code, why.hint)
    return {**NOTHING, "how": "refused", "steps": [step]}


def _shown_step(how: str, why: str, code: str, hint: str, sql: Sequence[str] = (), policy: str = "") -> dict[str, Any]:
    """Return a step of a plan as pages show it."""
    texts = {"why": short_text(why), "policy": policy, "code": code, "hint": short_text(hint)}
    return {"how": how, "sql": [short_text(one) for one in sql[:MOST_STEPS]], **texts}


def _rows(run: RunContext, ahead: PendingLog, found: Contents, starts: Mapping[int, LogKey]) -> list[PlanRow]:
    """Return rows of the repository, in log order. starts: where suspended tables are."""
    if not found:
        return []
    revisions = _revisions(run, {table_id for table_id, _ in found})
    fingerprint = run.channel.fingerprint()
    return [
        PlanRow(
            ahead.target,
            table_id,
            key,
            Position(starts[table_id].lsn) if table_id in starts else ahead.low,
            ahead.high,
            revisions.get((table_id, key)),
            fingerprint,
            run.run_id,
            content,
        )
        for (table_id, key), content in sorted(found.items(), key=_in_log_order)
    ]


def _in_log_order(one: tuple[tuple[int, LogKey], Any]) -> tuple[LogKey, int]:
    (table_id, key), _ = one
    return key, table_id


def _revisions(run: RunContext, ids: Iterable[int]) -> dict[tuple[int, LogKey], int]:
    known = run.repository.revisions_of(run.channel.name, set(ids))
    return {(table_id, one.key): one.number for table_id, revisions in known.items() for one in revisions}
