"""A target may not follow schema changes, by its rules or for want of actions; its tables stay, and take what fits."""

from __future__ import annotations

from airflow_ddlrepl.adapt.plan.responses import STILL_WAITS
from airflow_ddlrepl.adapt.plan.verdicts import LATE
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.shape.linked_by_name import linked_by_name, without_values
from airflow_ddlrepl.adapt.shape.match_existing import as_seen
from airflow_ddlrepl.adapt.shape.target_shape import hold
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.model.table import Table

_LOST = "the source's table has no column of its name"
WHY = "no AdaptDDL action on both sides: the target is not changed"


def left_alone(
    old: Table | None, new: Table | None, before: Table | None, evidence: Evidence, policy: Policy, facts: TargetFacts
) -> TablePlan:
    """Return a plan that changes nothing at the target and warns of each change of the source's table.

    old: the target's table, if it has one. before: the source's own shape before, if known.
    A new table is not made; at a target for further TARGETs, which most tables lack, it is not mentioned. One that
    comes back under its name goes on in the existing table. For want of actions a column of the target takes the values
    of the source's column of its name; otherwise of the one that it came from. A table of which the log lacks rows
    since the statement is loaded as it is there.
    """
    table = new or old
    assert table is not None
    changes = [] if old is None and policy.is_elsewhere else _changes(old, new, before, facts)
    why, omits = policy.discarded or WHY, Omission.CHANGE if policy.discarded else Omission.NOTHING
    steps = [Step(StepKind.WARN, f"{change}: {why}", policy=policy.discarded, omits=omits) for change in changes]
    if facts.is_pending and new is not None:
        steps.append(STILL_WAITS)
    elif evidence.filled and policy.takes_rows and old is not None and new is not None and not old.is_partitioned:
        steps.append(Step(StepKind.REFRESH, LATE.why))
    shape = old
    if old is not None and new is not None and before is not None and policy.is_hvr and not policy.discarded:
        shape = linked_by_name(old, before, new)
        lost = [name for name in without_values(shape, new) if name not in without_values(old, before)]
        steps += [Step(StepKind.WARN, f"column {name} gets no more values: {_LOST}") for name in lost]
    if old is None and new is not None and facts.is_orphaned and facts.existing is not None:
        shape = as_seen(facts.existing, hold(new, facts.name_after, facts))
    return TablePlan(
        name=table.name,
        target=shape.name if shape else facts.name_after or table.name,
        changes=tuple(map(str, changes)),
        evidence=evidence.lines() if changes else (),
        steps=tuple(steps),
        hazards=(),
        shape=shape,
        is_orphaned=new is None,
    )


def _changes(
    old: Table | None, new: Table | None, before: Table | None, facts: TargetFacts
) -> tuple[SchemaChange, ...]:
    known = before or old
    if new is None:
        return (DropTable(known),) if known else ()
    return diff(known, new, facts.type_system) if known else (CreateTable(new),)
