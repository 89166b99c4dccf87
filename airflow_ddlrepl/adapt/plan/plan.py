"""From two shapes of a table to what a target has to do. Pure: reads nothing, runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from airflow_ddlrepl.adapt.plan.dropped_table import dropped
from airflow_ddlrepl.adapt.plan.new_table import created
from airflow_ddlrepl.adapt.plan.refused_alter import answer_refusal, is_left, rendered
from airflow_ddlrepl.adapt.plan.responses import answer
from airflow_ddlrepl.adapt.plan.sql_steps import Rendering
from airflow_ddlrepl.adapt.plan.unmanaged_table import left_alone
from airflow_ddlrepl.adapt.plan.verdicts import REWRITTEN, Case, is_rewritten, judge
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.partitions import joined
from airflow_ddlrepl.adapt.shape.target_shape import become_text, hides_values, hold
from airflow_ddlrepl.adapt.shape.wanted_shape import want
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.config.hvr.ddl_table import Ddl
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.statement import NOTHING_KNOWN, Evidence
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Column, Table

LATE = "the table holds rows from before the log carried them"


def plan(
    old: Table | None,
    new: Table | None,
    *,
    render: Renderer,
    evidence: Evidence = NOTHING_KNOWN,
    policy: Policy = Policy(),  # noqa: B008
    facts: TargetFacts = TargetFacts(),  # noqa: B008
    source_before: Table | None = None,
    needs: Mapping[Ddl, str] = MappingProxyType({}),
) -> TablePlan:
    """What one target has to do because a table changed.

    old: the shape the target table stands at (a former plan's `shape`), None when it isn't there. new: the source
    table's shape now, None when it was dropped. source_before: the source's own shape before, if known; it tells
    what really changed where the target holds less or more than the source. needs: as in `Case`; a PostgreSQL source
    needs none. A refused change is a step of kind refuse, never an exception.
    """
    if old is None and new is None:
        raise ValueError("a plan needs a table before or after")
    if not policy.adapts and not _is_new_partition(old, new, facts):
        return left_alone(old, new, source_before, evidence, policy, facts)
    if new is None:
        assert old is not None
        return dropped(old, evidence, policy, facts, render)
    if old is None or old.id != new.id:
        existing = facts.existing or (hold(old, facts.name_before, facts) if old else None)
        return created(new, evidence, policy, replace(facts, existing=existing), render)
    return _altered(old, new, source_before or old, evidence, policy, facts, render, needs)


def _is_new_partition(old: Table | None, new: Table | None, facts: TargetFacts) -> bool:
    """Of a table that stands: it is made in any case, for its rows are that table's."""
    return old is None and new is not None and new.partition is not None and facts.has_parent


def target_shape(table: Table, *, facts: TargetFacts = TargetFacts()) -> Table:  # noqa: B008
    """The shape a target holds for a source table: what a refresh creates. Name: facts.name_after."""
    return hold(table, facts.name_after, facts)


def _altered(
    old: Table,
    new: Table,
    before: Table,
    evidence: Evidence,
    policy: Policy,
    facts: TargetFacts,
    render: Renderer,
    needs: Mapping[Ddl, str],
) -> TablePlan:
    notes: list[str] = []
    known: list[str] = []
    held = hold(new, facts.name_after, facts, notes.append)
    was = hold(before, facts.name_before, facts, known.append)
    table_state = hold(old, facts.name_before, facts)
    found = diff(was, held)
    wanted = want(table_state, held, policy)
    if _is_attached(table_state, wanted):
        wanted = joined(wanted, facts.parent_shape)
    case = Case(new, held, evidence, policy, facts, needs)
    try:
        verdicts = [verdict for change in found for verdict in judge(change, case)]
        late = (*_late(case), *_lacking(was, table_state))
        if not late and not any(verdict.reload for verdict in verdicts) and is_rewritten(case, found):
            verdicts.append(REWRITTEN)
        verdict_steps = (*answer(verdicts, case), *late)
        verdict_steps += answer_refusal(case, _waits(verdict_steps))
        hidden = _hidden(new, held, facts, was)
        texts = [w for w in become_text(new, held) if w not in become_text(before, was)]
        warned = tuple(Step(StepKind.WARN, why) for why in texts)
        own, reached = rendered(Rendering(render, case, table_state, wanted, verdict_steps))
        steps = (*hidden, *verdict_steps, *warned, *own)
    except Unsupported as refusal:
        steps, reached = (Step(StepKind.REFUSE, refusal.message, code=refusal.code, hint=refusal.hint),), table_state
    refusals = tuple(s for s in steps if s.kind is StepKind.REFUSE)
    if is_left(case) and not _waits(steps):
        wanted = reached
    return TablePlan(
        name=new.name,
        target=wanted.name,
        changes=tuple(str(c) for c in found),
        evidence=evidence.lines() if found else (),
        steps=refusals or _ordered(steps),
        hazards=_hazards(diff(table_state, wanted), [n for n in notes if n not in known]),
        shape=old if refusals else wanted,
        until_refresh=reached if _waits(steps) else None,
    )


def _is_attached(table_state: Table, wanted: Table) -> bool:
    before, after = table_state.partition, wanted.partition
    return after is not None and (before is None or before.of != after.of)


def _waits(steps: Iterable[Step]) -> bool:
    return any(s.kind is StepKind.REFRESH for s in steps)


def _late(case: Case) -> tuple[Step, ...]:
    """Rows from before the table was published: no policy rules over them, as with a new table."""
    if not case.evidence.filled or case.held.is_partitioned:
        return ()
    return (Step(StepKind.REFRESH, LATE),)


def _lacking(was: Table, table_state: Table) -> tuple[Step, ...]:
    """Columns that the target did not follow before: what they hold is in no change."""
    there = {column.id for column in table_state.columns}
    names = ", ".join(c.name for c in was.columns if c.id not in there and not c.generated)
    if not names or was.is_partitioned:
        return ()
    return (Step(StepKind.REFRESH, f"the target's table lacks what the source's had before: {names}"),)


def _hidden(new: Table, held: Table, facts: TargetFacts, was: Table) -> tuple[Step, ...]:
    """Refusals for new generated columns whose values would never arrive."""
    known = {c.id for c in was.columns}
    return tuple(
        Step(StepKind.REFUSE, f"column {c.name}: {_UNFILLED}", code="ADP-103", hint=_PUBLISH)
        for c in hides_values(new, held, facts)
        if c.id not in known or _is_new_expression(c, was)
    )


def _is_new_expression(column: Column, was: Table) -> bool:
    return bool(was.column(column.id).generated)


_UNFILLED = "the target can't compute the generated column, and the log doesn't carry its values"
_PUBLISH = "use PostgreSQL 18 with publish_generated_columns = stored, or leave the column out of the publication"


def _ordered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Controls and warnings first, the refresh last, one refresh only."""
    first = [s for s in steps if s.kind in (StepKind.CONTROL, StepKind.WARN)]
    sql = [s for s in steps if s.kind is StepKind.SQL]
    refreshes = [s for s in steps if s.kind is StepKind.REFRESH]
    if len(refreshes) > 1:
        whys = "; ".join(dict.fromkeys(s.why for s in refreshes))
        refreshes = [replace(refreshes[0], why=whys)]
    return (*first, *sql, *refreshes)


def _hazards(found: tuple[SchemaChange, ...], notes: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([h for change in found for h in change.hazards] + notes))
