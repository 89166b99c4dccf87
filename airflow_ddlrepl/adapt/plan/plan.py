"""A plan follows from two shapes of a table: what a target has to do. Pure: reads nothing, runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.context import PlanContext
from airflow_ddlrepl.adapt.plan.ddl_replay import replayed
from airflow_ddlrepl.adapt.plan.dropped_table import dropped
from airflow_ddlrepl.adapt.plan.fixed_columns import judge_fixed
from airflow_ddlrepl.adapt.plan.new_table import created
from airflow_ddlrepl.adapt.plan.partial_refresh import beyond_limit, limited
from airflow_ddlrepl.adapt.plan.refused_alter import answer_refusal, is_left, rendered
from airflow_ddlrepl.adapt.plan.renamed_table import made_anew
from airflow_ddlrepl.adapt.plan.responses import answer, ask, respond, with_refresh
from airflow_ddlrepl.adapt.plan.settings import SettingsChange
from airflow_ddlrepl.adapt.plan.sql_steps import Rendering
from airflow_ddlrepl.adapt.plan.unmanaged_table import WHY, left_alone
from airflow_ddlrepl.adapt.plan.verdicts import (
    REWRITTEN,
    Case,
    Verdict,
    is_rewritten,
    judge,
    judge_columns,
    judge_late,
    judge_own_types,
    judge_settings,
    judge_unfit,
)
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.adapt.shape.target_shape import Note, TakeNote, become_text, hides_values, hold
from airflow_ddlrepl.adapt.shape.wanted_shape import wanted_shape
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.statement import NOTHING_KNOWN, Evidence
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.table import Column, Table, same_or

CHANGED = "the channel file has other settings for the table at this target"


def plan(
    old: Table | None,
    new: Table | None,
    *,
    render: Renderer,
    evidence: Evidence = NOTHING_KNOWN,
    policy: Policy = Policy(),  # noqa: B008
    facts: TargetFacts,
    context: PlanContext = PlanContext(),  # noqa: B008
) -> TablePlan:
    """Return what one target has to do because a table changed.

    old: the present shape of the target table (a former plan's `shape`), None when it isn't there. new: the source
    table's shape now, None when it was dropped. A refused change is a step of kind refuse, never an exception.
    """
    if old is None and new is None:
        raise ValueError("a plan needs a table before or after")
    found = _by_shapes(old, new, evidence, policy, facts, render, context)
    if context.settings is not None:
        found = _with_settings(found, old, policy, facts, context.settings)
    if context.text is not None:
        found = replayed(found, context.text, render, facts.type_system)
    if context.settings is None:
        return found
    refitted = judge_unfit(context.settings, old, found.shape) if old and found.shape else ()
    return with_refresh(found, (*judge_settings(context.settings), *refitted))


def _with_settings(
    found: TablePlan, old: Table | None, policy: Policy, facts: TargetFacts, settings: SettingsChange
) -> TablePlan:
    """Return the plan with the file's settings, in the file's words where the file has changed and no statement.

    old: the present shape of the target's table.
    """
    found = replace(found, settings=settings.now)
    if settings.kind is not EventKind.PROPERTIES or settings.before is None:
        return found
    if not policy.adapts and settings.now.shapes_like(settings.before):
        return found
    if not policy.adapts:
        return replace(found, steps=(*found.steps, Step(StepKind.WARN, f"{CHANGED}; {policy.discarded or WHY}")))
    changes = tuple(map(str, diff(old, found.shape, facts.type_system))) if found.shape is not None else ()
    return replace(found, changes=changes, evidence=(CHANGED,) if found.changes_anything else ())


def _by_shapes(
    old: Table | None,
    new: Table | None,
    evidence: Evidence,
    policy: Policy,
    facts: TargetFacts,
    render: Renderer,
    context: PlanContext,
) -> TablePlan:
    """Return the plan that the shapes alone lead to: it makes the target's table what the source's is."""
    if not policy.adapts and not _is_new_partition(old, new, facts):
        return left_alone(old, new, context.source_before, evidence, policy, facts)
    if new is None:
        assert old is not None
        gone = dropped(old, evidence, policy, facts, render)
        return replace(gone, steps=(*ask([DropTable(old)], policy), *gone.steps))
    try:
        require_texts(new, facts.server_version, facts.strange)
    except Unsupported as refusal:
        return _unusable(old, new, evidence, facts, refusal)
    if old is not None and context.former is not None:
        return made_anew(old, new, evidence, (context.former, policy), facts, render)
    if old is None or old.id != new.id:
        existing = facts.existing or (hold(old, facts.name_before, facts) if old else None)
        return created(new, evidence, policy, replace(facts, existing=existing), render)
    return _altered(old, new, evidence, policy, facts, render, context)


def _unusable(old: Table | None, new: Table, evidence: Evidence, facts: TargetFacts, refusal: Unsupported) -> TablePlan:
    """Return the plan for a table whose texts can't go into SQL at any target: it stays as it is."""
    return TablePlan(
        name=new.name,
        target=facts.name_after or new.name,
        changes=tuple(map(str, diff(old, new, facts.type_system))) if old is not None else (str(CreateTable(new)),),
        evidence=evidence.lines(),
        steps=(Step(StepKind.REFUSE, refusal.message, code=refusal.code, hint=refusal.hint),),
        hazards=(),
        shape=old,
    )


def _is_new_partition(old: Table | None, new: Table | None, facts: TargetFacts) -> bool:
    """Is this a new partition of a replicated table? It is made in any case, for its rows are that table's."""
    return old is None and new is not None and new.partition is not None and facts.has_parent


def target_shape(table: Table, *, facts: TargetFacts, note: TakeNote = lambda one: None) -> Table:
    """Return the shape a target holds for a source table: what a refresh creates. Name: facts.name_after.

    note: is called with what is left out. Whether it can have the table at all says `require_texts`.
    """
    return hold(table, facts.name_after, facts, note)


def _altered(
    old: Table,
    new: Table,
    evidence: Evidence,
    policy: Policy,
    facts: TargetFacts,
    render: Renderer,
    context: PlanContext,
) -> TablePlan:
    before, types = context.source_before or old, facts.type_system
    notes: list[Note] = []
    known: list[Note] = []
    held = hold(new, facts.name_after, facts, notes.append)
    was = hold(before, facts.name_before, facts, known.append)
    present = _computing(hold(old, facts.name_before, facts), old)
    found = diff(was, held, types)
    wanted = wanted_shape(present, held, policy, types)
    if _is_attached(present, wanted):
        wanted = joined(wanted, facts.parent_shape)
    case = Case(new, held, evidence, policy, facts, context.needs)
    try:
        verdicts = [verdict for change in found for verdict in judge(change, case)]
        asked = (Verdict(True, context.reload),) if context.reload else ()
        missing = (*judge_late(case), *judge_columns(was, present), *judge_own_types(case), *asked)
        if not any(verdict.reload for verdict in (*verdicts, *missing)) and is_rewritten(case, found):
            verdicts.append(REWRITTEN)
        verdict_steps = (*answer(verdicts, case), *(step for one in missing for step in respond(one, policy)))
        verdict_steps = limited(verdict_steps, context.limit, before, new, evidence)
        ahead = found if _is_same((was, held), (present, wanted)) else diff(present, wanted, types)
        fixed = judge_fixed(ahead, case, context.limit)
        verdict_steps += tuple(step for one in fixed for step in respond(one, policy))
        answered = answer_refusal(case, _waits(verdict_steps))
        if context.limit and _waits(answered):
            raise beyond_limit(new, f"the target can't alter the rows that a refresh would leave: {answered[0].why}")
        verdict_steps += answered
        hidden = _hidden(new, held, facts, was)
        texts = [w for w in become_text(new, held, facts) if w not in become_text(before, was, facts)]
        warned = tuple(Step(StepKind.WARN, why) for why in texts)
        own, reached = rendered(Rendering(render, case, present, wanted, verdict_steps, ahead))
        is_own_wish = context.settings is not None and context.settings.kind is EventKind.PROPERTIES
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
        losses=() if refusals else tuple(loss for change in ahead for loss in change.losses),
        shape=old if refusals else wanted,
        until_refresh=reached if _waits(steps) else None,
    )


def _is_same(one: tuple[Table, Table], other: tuple[Table, Table]) -> bool:
    """Return whether the same changes lead from one shape to the other in both pairs, with all that shapes say."""
    if all(a.columns is b.columns for a, b in zip(one, other, strict=True)):
        return one == other
    extras = ([column.extra for table in pair for column in table.columns] for pair in (one, other))
    return one == other and next(extras) == next(extras)


def _computing(present: Table, old: Table) -> Table:
    """Return the shape of a target's table with what its columns compute there now, though no new table would."""
    if present.columns is old.columns:
        return present
    known = {column.id: column for column in old.columns}

    def computing(column: Column) -> Column:
        now = known[column.id]
        is_same = (column.generated, column.default) == (now.generated, now.default)
        return column if is_same else replace(column, generated=now.generated, default=now.default)

    columns = same_or(present.columns, map(computing, present.columns))
    return present if columns is present.columns else present.with_(columns=columns)


def _is_attached(present: Table, wanted: Table) -> bool:
    before, after = present.partition, wanted.partition
    return after is not None and (before is None or before.of != after.of)


def _waits(steps: Iterable[Step]) -> bool:
    return any(step.is_reload for step in steps)


def _hidden(new: Table, held: Table, facts: TargetFacts, was: Table) -> tuple[Step, ...]:
    """Return refusals for new generated columns whose values would never arrive."""
    known = {c.id for c in was.columns}
    return tuple(
        Step(StepKind.REFUSE, f"column {c.name}: {_UNFILLED}", code="ADP-103", hint=_PUBLISH)
        for c in hides_values(new, held, facts)
        if c.id not in known or _is_new_expression(c, was)
    )


def _is_new_expression(column: Column, was: Table) -> bool:
    return bool(was.column(column.id).generated)


_UNFILLED = "the target can't compute the generated column, and its values are not in the log"
_PUBLISH = "use PostgreSQL 18 with publish_generated_columns = stored, or leave the column out of the publication"


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
