"""A plan follows from two shapes of a table: what a target has to do. Pure: reads nothing, runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_ddlrepl.adapt.plan.altered_table import altered
from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.ddl_replay import with_source_text
from airflow_ddlrepl.adapt.plan.dropped_table import removed
from airflow_ddlrepl.adapt.plan.new_table import created
from airflow_ddlrepl.adapt.plan.renamed_table import recreated
from airflow_ddlrepl.adapt.plan.responses import with_refresh
from airflow_ddlrepl.adapt.plan.settings import SettingsChange
from airflow_ddlrepl.adapt.plan.unmanaged_table import WHY, left_alone
from airflow_ddlrepl.adapt.plan.verdicts import judge_settings, judge_unfit
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.adapt.shape.target_shape import TakeNote, hold
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.table import Table

CHANGED = "the channel file has other settings for the table at this target"


def plan(change: ChangeAtTarget) -> TablePlan:
    """Return what one target has to do because a table changed: what the first decider says that has a plan for it.

    A refused change is a step of kind refuse, never an exception.
    """
    if change.old is None and change.new is None:
        raise ValueError("a plan needs a table before or after")
    found = next(made for decide in DECIDERS if (made := decide(change)) is not None)
    if change.settings is not None:
        found = _with_settings(found, change, change.settings)
    if change.text is not None:
        found = with_source_text(found, change.text, change.render, change.facts.server.type_system)
    if change.settings is None:
        return found
    refitted = judge_unfit(change.settings, change.old, found.shape) if change.old and found.shape else ()
    return with_refresh(found, (*judge_settings(change.settings), *refitted))


def _with_settings(found: TablePlan, change: ChangeAtTarget, settings: SettingsChange) -> TablePlan:
    """Return the plan with the file's settings, in the file's words where the file has changed and no statement."""
    policy = change.policy
    found = replace(found, settings=settings.now)
    if settings.kind is not EventKind.PROPERTIES or settings.before is None:
        return found
    if not policy.adapts and settings.now.shapes_like(settings.before):
        return found
    if not policy.adapts:
        return replace(found, steps=(*found.steps, Step(StepKind.WARN, f"{CHANGED}; {policy.discarded or WHY}")))
    types = change.facts.server.type_system
    changes = tuple(map(str, diff(change.old, found.shape, types))) if found.shape is not None else ()
    return replace(found, changes=changes, evidence=(CHANGED,) if found.changes_anything else ())


def _unusable(change: ChangeAtTarget) -> TablePlan | None:
    """Return the plan for a table whose texts can't go into SQL at any target: it stays as it is."""
    old, new, facts = change.old, change.new, change.facts
    if new is None:
        return None
    try:
        require_texts(new, facts.server.version, facts.strange)
    except Unsupported as refusal:
        types = facts.server.type_system
        return TablePlan(
            name=new.name,
            target=facts.name_after or new.name,
            changes=tuple(map(str, diff(old, new, types))) if old is not None else (str(CreateTable(new)),),
            evidence=change.evidence.lines(),
            steps=(Step(StepKind.REFUSE, refusal.message, code=refusal.code, hint=refusal.hint),),
            hazards=(),
            shape=old,
        )
    return None


DECIDERS: tuple[Callable[[ChangeAtTarget], TablePlan | None], ...] = (
    left_alone,
    removed,
    _unusable,
    recreated,
    created,
    altered,
)
"""What may be to do, in this order: the first that has a plan for a change decides."""


def target_shape(table: Table, *, facts: TargetFacts, note: TakeNote = lambda one: None) -> Table:
    """Return the shape a target holds for a source table: what a refresh creates. Name: facts.name_after.

    note: is called with what is left out. Whether it can have the table at all says `require_texts`.
    """
    return hold(table, facts.name_after, facts, note)
