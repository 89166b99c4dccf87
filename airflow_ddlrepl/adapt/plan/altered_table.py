"""A table that is on both sides is altered at the target, and loaded again where the log does not have its new rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.refused_alter import answer_refusal, is_left, rendered
from airflow_ddlrepl.adapt.plan.responses import ask, respond, responses_to
from airflow_ddlrepl.adapt.plan.sql_steps import Rendering
from airflow_ddlrepl.adapt.plan.verdicts import (
    REWRITTEN,
    By,
    Case,
    Verdict,
    is_rewritten,
    judge_columns,
    judge_computed,
    judge_late,
    judge_own_types,
    verdicts_on,
)
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.target_shape import LOGGED, Note, become_text, hides_values, hold
from airflow_ddlrepl.adapt.shape.wanted_shape import wanted_shape
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.table import Column, Table, same_or
from airflow_ddlrepl.model.target_columns import retains_rows
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.notation.refresh_options import Granularity


def altered(change: ChangeAtTarget) -> TablePlan | None:
    """Return the plan that makes the target's table what the source's is now; None: there is none on both sides."""
    old, new, facts, policy, evidence = change.old, change.new, change.facts, change.policy, change.evidence
    if old is None or new is None:
        return None
    before, types = change.source_before or old, facts.server.type_system
    notes: list[Note] = []
    known: list[Note] = []
    held = hold(new, facts.name_after, facts, notes.append)
    was = hold(before, facts.name_before, facts, known.append)
    present = _computing(hold(old, facts.name_before, facts), old)
    found = diff(was, held, types)
    wanted = wanted_shape(present, held, policy, types)
    if _is_attached(present, wanted):
        wanted = joined(wanted, facts.parent_shape)
    case = Case(new, held, evidence, policy, facts, change.needs)
    try:
        verdicts = [verdict for one in found for verdict in verdicts_on(one, case)]
        verdicts += judge_computed(before, was, case)
        asked = (Verdict(True, change.reload),) if change.reload else ()
        missing = (*judge_late(case), *judge_columns(was, present), *judge_own_types(case), *asked)
        if not any(verdict.reload for verdict in (*verdicts, *missing)) and is_rewritten(case, found):
            verdicts.append(REWRITTEN)
        verdict_steps = (*responses_to(verdicts, case), *(step for one in missing for step in respond(one, policy)))
        verdict_steps = limited(verdict_steps, change.limit, before, new, evidence)
        ahead = found if _is_same((was, held), (present, wanted)) else diff(present, wanted, types)
        fixed = _judge_fixed(ahead, case, change.limit)
        verdict_steps += tuple(step for one in fixed for step in respond(one, policy))
        answered = answer_refusal(case, _waits(verdict_steps))
        if change.limit and _waits(answered):
            raise beyond_limit(new, f"the target can't alter the rows that a refresh would leave: {answered[0].why}")
        verdict_steps += answered
        hidden = _hidden(new, held, facts, was)
        texts = [w for w in become_text(new, held, facts) if w not in become_text(before, was, facts)]
        warned = tuple(Step(StepKind.WARN, why) for why in texts)
        own, reached = rendered(Rendering(change.render, case, present, wanted, verdict_steps, ahead))
        is_own_wish = change.settings is not None and change.settings.kind is EventKind.PROPERTIES
        steps = (*(() if is_own_wish else ask(ahead, policy)), *hidden, *verdict_steps, *warned, *own)
    except Unsupported as refusal:
        steps, reached = (Step(StepKind.REFUSE, refusal.message, code=refusal.code, hint=refusal.hint),), present
        ahead = diff(present, wanted, types)
    refusals = tuple(s for s in steps if s.kind is StepKind.REFUSE)
    if is_left(case) and not _waits(steps):
        wanted, ahead = reached, diff(present, reached, types)
    return TablePlan(
        name=new.name,
        target=wanted.name,
        changes=tuple(str(c) for c in found),
        evidence=evidence.lines() if found else (),
        steps=refusals or _ordered(steps),
        hazards=_hazards(ahead, [n.text for n in notes if n not in known]),
        left_at_source=tuple(n.text for n in notes if n.is_left),
        losses=() if refusals else tuple(loss for one in ahead for loss in one.losses),
        shape=old if refusals else wanted,
        until_refresh=reached if _waits(steps) else None,
    )


def _is_same(one: tuple[Table, Table], other: tuple[Table, Table]) -> bool:
    """Return whether the same changes lead from one shape to the other in both pairs, with all that shapes say."""
    if all(a.columns is b.columns for a, b in zip(one, other, strict=True)):
        return one == other
    extras = ([column.extra for table in pair for column in table.columns] for pair in (one, other))
    return one == other and next(extras) == next(extras)


def _computing(existing: Table, old: Table) -> Table:
    """Return the shape of a target's table with what its columns compute there now, though no new table would."""
    if existing.columns is old.columns:
        return existing
    known = {column.id: column for column in old.columns}

    def computing(column: Column) -> Column:
        now = known[column.id]
        is_same = (column.generated, column.default) == (now.generated, now.default)
        return column if is_same else replace(column, generated=now.generated, default=now.default)

    columns = same_or(existing.columns, map(computing, existing.columns))
    return existing if columns is existing.columns else existing.with_(columns=columns)


def _is_attached(existing: Table, wanted: Table) -> bool:
    before, after = existing.partition, wanted.partition
    return after is not None and (before is None or before.of != after.of)


def _waits(steps: Iterable[Step]) -> bool:
    return any(step.is_reload for step in steps)


def _hidden(new: Table, representable: Table, facts: TargetFacts, was: Table) -> tuple[Step, ...]:
    """Return refusals for new generated columns whose values would never arrive."""
    known = {c.id for c in was.columns}
    return tuple(
        Step(StepKind.REFUSE, f"column {c.name}: {_UNFILLED}", code="ADP-103", hint=LOGGED)
        for c in hides_values(new, representable, facts)
        if c.id not in known or bool(was.column(c.id).generated)
    )


_UNFILLED = "the target can't compute the generated column, and its values are not in the log"


def _ordered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps with controls and warnings first, the refresh last, and one refresh only."""
    first = [s for s in steps if s.kind in (StepKind.CONTROL, StepKind.WARN)]
    sql = [s for s in steps if s.kind is StepKind.SQL]
    refreshes = [s for s in steps if s.kind is StepKind.REFRESH]
    if len(refreshes) > 1:
        whys = "; ".join(dict.fromkeys(s.why for s in refreshes))
        refreshes = [replace(refreshes[0], why=whys)]
    return (*first, *sql, *refreshes)


def _hazards(found: tuple[SchemaChange, ...], notes: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([h for change in found for h in change.hazards] + notes))


def _judge_fixed(changes: Iterable[SchemaChange], case: Case, limit: str) -> Iterator[Verdict]:
    """Judge changes of the target's table that its kind of target has no ALTER for: a refresh replaces the table.

    limit: which rows a refresh replaces; empty: all. Refused (ADP-174) where rows of the present table have to stay.
    """
    fixed = [str(change) for change in changes if _is_fixed(change, case)]
    if not fixed:
        return
    why = f"the target can't alter a column so ({'; '.join(fixed)})"
    stays = retains_rows(case.held) or case.policy.refresh.granularity is Granularity.ROW or bool(limit)
    if stays or case.is_in_tree:
        yield Verdict(
            why=f"{why}, and rows of its table have to stay there" if stays else f"{why} in partitions",
            code="ADP-174",
            hint="drop the target's table and refresh it (ddlrepl refresh --table), or take it out of the channel",
        )
    else:
        yield Verdict(True, f"{why}: the table is created again", By.NONE)


def _is_fixed(change: SchemaChange, case: Case) -> bool:
    if isinstance(change, RenameColumn):
        return not case.facts.server.renames_columns
    return isinstance(change, ChangeType) and not case.facts.server.alters_types


def limited(steps: tuple[Step, ...], limit: str, before: Table, new: Table, evidence: Evidence) -> tuple[Step, ...]:
    """Return the steps with a refresh of some rows only, in the place of one of the whole table.

    limit: which rows, as a condition over the source's columns; empty: all. before, new: the source's table.
    Raises Unsupported ADP-177 where the change gives columns of the condition other values: rows would be lost.
    """
    if not limit or not any(step.is_reload for step in steps):
        return steps
    columns, known = ({c.name: (c.id, c.type, c.collation) for c in table.columns} for table in (new, before))
    computed = dict(evidence.conversions)
    if changed := [n for n in condition(limit).names() if columns.get(n) != known.get(n) or n in computed]:
        why = f"the change gives {', '.join(changed)} other values, by which `restrict` chooses the rows of a refresh"
        raise beyond_limit(new, why)
    return tuple(replace(s, rows=limit, why=f"{s.why}; rows where {limit}") if s.is_reload else s for s in steps)


def beyond_limit(table: Table, why: str) -> Unsupported:
    """Return the error for a change whose refresh of some rows would lose others, or leave them as they can't stay."""
    return Unsupported(
        why,
        code="ADP-177",
        table=table.name,
        hint="change the condition in `restrict`, or take it away; `ddlrepl refresh --table` with this table loads all"
        " of its rows when no condition is for a refresh by hand",
    )
