"""HVR takes a table's new name for two statements: a DROP TABLE of the old name, and a CREATE TABLE of the new one."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.dropped_table import dropped
from airflow_ddlrepl.adapt.plan.new_table import made_new
from airflow_ddlrepl.adapt.plan_model import TablePlan


def recreated(change: ChangeAtTarget) -> TablePlan | None:
    """Return the plan that drops a table under its old name and creates it under its new one, where it is refreshed.

    None: it is one table before and after. The facts are those for a table that is new to the target; but for
    name_before. The policy of the old name says what becomes of it.
    """
    old, new, facts = change.old, change.new, change.facts
    if old is None or new is None or change.former is None:
        return None
    gone = dropped(replace(change, policy=change.former), old)
    existing = facts.existing
    if gone.is_orphaned and existing is None and gone.target == facts.name_after:
        existing = gone.shape  # the file gives the target's table one name, whatever the source calls it
    here = made_new(replace(change, evidence=replace(change.evidence, filled=True)), new, existing)
    if here.stops:
        return replace(here, changes=(*gone.changes, *here.changes))
    return replace(
        here,
        changes=(*gone.changes, *here.changes),
        steps=(*gone.steps, *here.steps),
        hazards=(*gone.hazards, *here.hazards),
        is_made_anew=True,
        orphan=gone.shape if gone.is_orphaned and gone.target != here.target else None,
    )


def left_behind(gone: TablePlan) -> TablePlan:
    """Return the plan of a dropped table, for a table that the source still has under a name that is not the channel's.

    The target's table is no longer that one's: it may join again, as a table of another name.
    """
    return replace(gone, is_orphaned=False, is_removed=True, orphan=gone.shape) if gone.is_orphaned else gone
