"""These functions plan for a table that was dropped or renamed at the source, or whose name another table takes."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.responses import ask
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.target_shape import hold
from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.config.sections.policies import OnDropTable
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.model.names import TableName, displaced_name
from airflow_ddlrepl.model.table import Table


def aside_name(table: Table) -> TableName:
    """Return the new name of a channel's table whose name another table takes."""
    return TableName(table.name.schema, displaced_name(table.name.name, table.id))


def makes_way(occupant: Table, why: str, render: Renderer) -> Step:
    """Return the step that renames a table of the channel because another one has its name now."""
    away = RenameTable(occupant.name, aside_name(occupant))
    return Step(StepKind.SQL, f"{away}: {why}", render.sql(away, occupant))


def removed(change: ChangeAtTarget) -> TablePlan | None:
    """Return the plan for a table that was dropped at the source, once a person has let it; None: it is there."""
    if change.new is not None or change.old is None:
        return None
    gone = dropped(change, change.old)
    return replace(gone, steps=(*ask([DropTable(change.old)], change.policy), *gone.steps))


def dropped(change: ChangeAtTarget, old: Table) -> TablePlan:
    """Return the plan for a table that was dropped at the source, as on_drop_table says. old: the target's table.

    An orphaned partition is detached: its rows must not show in the partitioned table any more. A table that the target
    has refused to drop stays, orphaned, which is told: no other table waits for it.
    """
    facts, policy, render = change.facts, change.policy, change.render
    held = hold(old, facts.name_before, facts)
    decided = f"on_drop_table={policy.on_drop_table}"
    steps: list[Step] = []
    is_to_go = policy.on_drop_table is OnDropTable.DROP_FROM_CHANNEL_AND_TARGET
    removes = is_to_go and facts.refusal is None
    if facts.refusal is not None:
        left = f"{held.name} stays at the target with its rows, and is no longer the channel's: drop it there by hand"
        steps.append(Step(StepKind.WARN, f"{facts.refusal.why}: {left}", policy=decided))
    if removes:
        steps.append(Step(StepKind.SQL, str(DropTable(held)), render.sql(DropTable(held), held), policy=decided))
    elif held.partition is not None and (facts.refusal is None or is_to_go):
        away = DetachPartition(held.partition)
        steps.append(Step(StepKind.SQL, str(away), render.sql(away, held), policy=decided))
    if policy.on_drop_table is OnDropTable.KEEP:
        steps.append(
            Step(StepKind.WARN, f"{old.name} was dropped at the source and stays in the channel", policy=decided)
        )
    stays = () if removes else (f"{held.name} stays at the target unchanged",)
    return TablePlan(
        name=old.name,
        target=held.name,
        changes=(str(DropTable(old)),),
        evidence=change.evidence.lines(),
        steps=tuple(steps),
        hazards=(*DropTable(old).hazards, *stays),
        shape=None if removes else held.with_(partition=None),
        is_removed=removes,
        is_orphaned=not removes,
    )
