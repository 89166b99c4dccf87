"""HVR takes a table's new name for two statements: a DROP TABLE of the old name, and a CREATE TABLE of the new one."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.dropped_table import dropped
from airflow_ddlrepl.adapt.plan.new_table import created
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.model.table import Table


def made_anew(
    old: Table, new: Table, evidence: Evidence, policies: tuple[Policy, Policy], facts: TargetFacts, render: Renderer
) -> TablePlan:
    """Return the plan that drops a table under its old name and creates it under its new one, where it is refreshed.

    old: the target's table. policies: of the old name, whose on_drop_table decides, and of the new one. facts: as for
    a table that is new to the target; but for name_before.
    """
    gone = dropped(old, evidence, policies[0], facts, render)
    existing = facts.existing
    if gone.is_orphaned and existing is None and gone.target == facts.name_after:
        existing = gone.shape  # the file gives the target's table one name, whatever the source calls it
    here = created(new, replace(evidence, filled=True), policies[1], replace(facts, existing=existing), render)
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
