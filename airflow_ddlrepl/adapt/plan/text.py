"""A plan is printed as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.adapt.plan_model import Step, TablePlan
from airflow_ddlrepl.visible import as_lines


def as_text(plans: Sequence[TablePlan], at: object = None) -> str:
    """Return the text that `ddlrepl plan` prints for these plans."""
    place = f" at {at}" if at is not None else ""
    if not any(plan.changes_anything for plan in plans):
        return f"nothing to do{place}\n"
    return as_lines(line for plan in plans if plan.changes_anything for line in _lines(plan, place)) + "\n"


def _lines(plan: TablePlan, place: str) -> Iterator[str]:
    yield f"table {plan.name} -> {plan.target}{place}"
    yield from (f"  change    {change}" for change in plan.changes)
    yield from (f"  evidence  {line}" for line in plan.evidence)
    yield from (f"  policy    {policy}" for policy in plan.policies)
    for step in plan.steps:
        yield from _step(step)
    yield from (f"  hazard    {hazard}" for hazard in plan.hazards)


def _step(step: Step) -> Iterator[str]:
    if step.sql:
        yield from (f"  sql       {line}" for statement in step.sql for line in f"{statement};".splitlines())
        if step.own_transaction:
            yield "            (committed on its own before the rest)"
        return
    code = f"{step.code}: " if step.code else ""
    yield f"  {step.kind:<9} {code}{step.why}"
    if step.hint:
        yield f"            {step.hint}"
