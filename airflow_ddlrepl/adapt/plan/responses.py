"""The policies turn verdicts into refresh, control and warn steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.verdicts import WAITS, By, Case, Verdict
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import ASKED, Policy
from airflow_ddlrepl.config.sections.policies import AskBefore, OnAddColumnWithDefault, OnDropTable, OnEnrollBreak
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.tables.drop_table import DropTable

_ENROLL = {
    OnEnrollBreak.REFRESH: StepKind.REFRESH,
    OnEnrollBreak.FAIL_INTEG_JOB: StepKind.CONTROL,
    OnEnrollBreak.WARNING: StepKind.WARN,
}
_ADD_COLUMN = {
    OnAddColumnWithDefault.FILL: StepKind.REFRESH,
    OnAddColumnWithDefault.REFRESH: StepKind.REFRESH,
    OnAddColumnWithDefault.FAIL_INTEG_JOB: StepKind.CONTROL,
    OnAddColumnWithDefault.WARNING: StepKind.WARN,
}


STILL_WAITS = Step(StepKind.REFRESH, WAITS.why)


def responses_to(verdicts: Iterable[Verdict], case: Case) -> tuple[Step, ...]:
    """Return one step per verdict that isn't simply carried.

    A partitioned table holds no rows: its partitions are refreshed.
    """
    steps = tuple(step for verdict in verdicts for step in respond(verdict, case.policy))
    if case.facts.is_pending and not any(s.kind is StepKind.REFUSE for s in steps):
        return (STILL_WAITS,)
    if case.held.is_partitioned:
        return tuple(s for s in steps if s.kind is not StepKind.REFRESH)
    return steps


def respond(verdict: Verdict, policy: Policy) -> Iterator[Step]:
    """Yield the step that the policies ask for after a verdict; none where an ALTER carries the change."""
    if verdict.code:
        yield Step(StepKind.REFUSE, verdict.why, code=verdict.code, hint=verdict.hint)
    elif verdict.reload:
        kind, decided = _kind(verdict.by, policy)
        note = " (rows at the target may differ from the source)" if kind is StepKind.WARN else ""
        omits = Omission.ROWS if kind is StepKind.WARN else Omission.NOTHING
        yield Step(kind, verdict.why + note, policy=decided, hint=_HINT.get(kind, ""), omits=omits)


def ask(changes: Iterable[SchemaChange], policy: Policy) -> tuple[Step, ...]:
    """Return a breakpoint for each change that `ask_before` lists."""
    found = ((_asked_as(change), change) for change in changes)
    after = _AFTER_DROP[policy.on_drop_table]
    return tuple(
        Step(
            StepKind.CONTROL,
            f"`ask_before` lists it: {change}{after if kind is AskBefore.DROP_TABLE else ''}",
            policy=f"{ASKED}{kind.lower()}",
            hint=LOOK,
        )
        for kind, change in found
        if kind in policy.asks
    )


_STAYS = "; the target's table stays with its rows, and gets no more changes"
_AFTER_DROP = {
    OnDropTable.KEEP: _STAYS,
    OnDropTable.DROP_FROM_CHANNEL_ONLY: _STAYS,
    OnDropTable.DROP_FROM_CHANNEL_AND_TARGET: "; the target's table is dropped with its rows",
}
"""What follows once a person has let the target go on past a dropped table."""


def _asked_as(change: SchemaChange) -> AskBefore | None:
    if isinstance(change, DropTable):
        return AskBefore.DROP_TABLE
    if change.losses:
        return AskBefore.DROP_COLUMN
    return AskBefore.NARROW if isinstance(change, ChangeType) and change.may_lose else None


def with_refresh(found: TablePlan, verdicts: Iterable[Verdict]) -> TablePlan:
    """Return the plan with a refresh for these verdicts as well, after all its other steps; a refused one stays so."""
    whys = [verdict.why for verdict in verdicts]
    if not whys or any(step.kind is StepKind.REFUSE for step in found.steps):
        return found
    others = tuple(step for step in found.steps if step.kind is not StepKind.REFRESH)
    refreshes = [step for step in found.steps if step.kind is StepKind.REFRESH]
    why = "; ".join([*(step.why for step in refreshes), *whys])
    policy = refreshes[0].policy if refreshes else ""
    return replace(found, steps=(*others, Step(StepKind.REFRESH, why, policy=policy)))


def _kind(by: By, policy: Policy) -> tuple[StepKind, str]:
    if by is By.NONE:
        return StepKind.REFRESH, ""
    if by is By.ADD_COLUMN:
        add = policy.on_add_column_with_default
        return _ADD_COLUMN[add], f"{by}={add}"
    return _ENROLL[policy.on_enroll_break], f"{by}={policy.on_enroll_break}"


LOOK = "look at the table, then remove the control (ddlrepl controls remove)"
_HINT = {StepKind.CONTROL: LOOK}
