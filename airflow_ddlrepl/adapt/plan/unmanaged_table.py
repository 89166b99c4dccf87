"""A target may not follow schema changes, by its rules or for want of actions; its tables stay, and take what fits."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.responses import STILL_WAITS
from airflow_ddlrepl.adapt.plan.verdicts import LATE
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.match_existing import as_seen
from airflow_ddlrepl.adapt.shape.target_shape import hold
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.model.table import Key, Table

_LOST = "the source's table has no column of its name"
WHY = "no AdaptDDL action on both sides: the target is not changed"


def left_alone(change: ChangeAtTarget) -> TablePlan | None:
    """Return a plan that changes nothing at the target and warns of each change of the source's table.

    None: the target follows it. A new partition of a replicated table is made in any case, for its rows are that
    table's. Another new table is not made; at a target for further TARGETs, which most tables lack, it is not
    mentioned. One that comes back under its name goes on in the existing table. For want of actions a column of the
    target takes the values of the source's column of its name; otherwise of the one that it came from. A table of
    which the log lacks rows since the statement is loaded as it is there.
    """
    old, new, before, facts, policy = change.old, change.new, change.source_before, change.facts, change.policy
    if policy.adapts or (old is None and new is not None and new.partition is not None and facts.has_parent):
        return None
    table = new or old
    assert table is not None
    changes = [] if old is None and policy.is_elsewhere else _changes(old, new, before, facts)
    why, omits = policy.discarded or WHY, Omission.CHANGE if policy.discarded else Omission.NOTHING
    steps = [Step(StepKind.WARN, f"{one}: {why}", policy=policy.discarded, omits=omits) for one in changes]
    if facts.is_pending and new is not None:
        steps.append(STILL_WAITS)
    elif (
        change.evidence.filled and policy.takes_rows and old is not None and new is not None and not old.is_partitioned
    ):
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
        evidence=change.evidence.lines() if changes else (),
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
    return diff(known, new, facts.server.type_system) if known else (CreateTable(new),)


def linked_by_name(existing: Table, before: Table, after: Table) -> Table:
    """Return a target's table, which stays as it is, with the source's ids of the columns that it takes values of.

    existing: the target's table, with the ids that it had until now. before, after: the source's table before and after
    the change, with the names for this target. A column that has another name now gives no more values to the column
    that it gave them to; a renamed or new one gives them to a column of its name that gets none. Columns without values
    have negative ids.
    """
    were = {column.id: column.name for column in before.columns}
    named = {column.id: column.name for column in after.columns if were.get(column.id) != column.name}
    if not named:
        return existing
    lowest = min(0, *(column.id for column in existing.columns))
    ids = {column.id: column.id for column in existing.columns}
    for number in ids.keys() & named.keys() & were.keys():
        lowest -= 1
        ids[number] = lowest
    sources = {column.id for column in after.columns}
    free = {c.name: c.id for c in existing.columns if ids[c.id] not in sources and not c.extra}
    for number, name in named.items():
        if name in free:
            ids[free[name]] = number
    columns = sorted((replace(c, id=ids[c.id]) for c in existing.columns), key=lambda c: c.id)
    return existing.with_(
        columns=tuple(columns), key=_key(existing.key, ids), second_key=_key(existing.second_key, ids)
    )


def without_values(existing: Table, after: Table) -> tuple[str, ...]:
    """Return the names of a target's columns that no column of the source's table gives values to."""
    known = {column.id for column in after.columns}
    return tuple(c.name for c in existing.columns if c.id not in known and not c.extra and not c.generated)


def _key(key: Key | None, ids: dict[int, int]) -> Key | None:
    return replace(key, columns=tuple(ids[number] for number in key.columns)) if key else None
