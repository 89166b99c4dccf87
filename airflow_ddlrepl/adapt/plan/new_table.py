"""A table that is new at the source is created at the target, or an existing table there is used again."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.dropped_table import makes_way
from airflow_ddlrepl.adapt.plan.responses import respond
from airflow_ddlrepl.adapt.plan.verdicts import judge_new
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.shape.keep_structure import keep_structure
from airflow_ddlrepl.adapt.shape.match_existing import as_seen
from airflow_ddlrepl.adapt.shape.partitions import like_parent
from airflow_ddlrepl.adapt.shape.target_shape import LOGGED, Note, become_text, hides_values, hold
from airflow_ddlrepl.adapt.shape.type_changes import TYPE_CHANGES, type_steps
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.same_shape import partitioned_alike
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Using
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.ddl.types.create_type import CreateType
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table, replaced
from airflow_ddlrepl.model.target_columns import retains_rows
from airflow_ddlrepl.ports.types import TypeSystem


def created(change: ChangeAtTarget) -> TablePlan | None:
    """Return the plan for a table that is new at the source, or has taken another one's place; None: it is known."""
    old, new, facts = change.old, change.new, change.facts
    if new is None or (old is not None and old.id == new.id):
        return None
    return made_new(change, new, facts.existing or (hold(old, facts.name_before, facts) if old else None))


def made_new(change: ChangeAtTarget, new: Table, existing: Table | None) -> TablePlan:
    """Return the plan that creates a table. existing: the target's table that it is made of; None: there is none.

    Rows that the log doesn't carry (the table had some before it joined) come by a refresh.
    """
    facts, policy, render = replaced(change.facts, existing=existing), change.policy, change.render
    notes: list[Note] = []
    held = hold(new, facts.name_after, facts, notes.append)
    types = facts.server.type_system
    wanted = (
        keep_structure(as_seen(existing, held), held, types) if existing and policy.keep_existing_structure else held
    )
    wanted = like_parent(wanted, facts.parent_shape)
    keeps = existing is not None and policy.keeps_old_rows
    verdicts = tuple(judge_new(held, change.evidence, keeps_rows=keeps))
    stays = bool(verdicts) and (keeps or not facts.is_orphaned)  # the one that is there, up to the refresh
    try:
        warned = [Step(StepKind.WARN, why) for why in become_text(new, held, facts)]
        structure = _structure(existing, wanted, stays, render, types)
        if facts.is_renamed and facts.occupant is not None:
            structure.insert(0, makes_way(facts.occupant, "called otherwise, or dropped, at the source", render))
        steps = [*warned, *_types(held, facts, render), *structure]
    except Unsupported as refusal:
        steps = [Step(StepKind.REFUSE, refusal.message, code=refusal.code, hint=refusal.hint)]
    for column in hides_values(new, held, facts):
        why = f"column {column.name}: the target can't compute it and its values are not in the log"
        steps.append(Step(StepKind.REFUSE, why, code="ADP-103", hint=LOGGED))
    steps += [step for verdict in verdicts for step in respond(verdict, policy)]
    refusals = tuple(s for s in steps if s.kind is StepKind.REFUSE)
    gives_way = existing is not None and (retains_rows(existing) or not partitioned_alike(existing, wanted))
    return TablePlan(
        name=new.name,
        target=wanted.name,
        changes=(str(CreateTable(new)),),
        evidence=change.evidence.lines(),
        steps=refusals or tuple(steps),
        hazards=tuple(n.text for n in notes),
        left_at_source=tuple(n.text for n in notes if n.is_left),
        shape=None if refusals else wanted,
        until_refresh=as_seen(existing, wanted) if existing and stays and not gives_way else None,
    )


def reshape(existing: Table, wanted: Table, render: Renderer, types: TypeSystem) -> tuple[str, ...]:
    """Return SQL that empties a target table and alters it to the wanted shape; grants, views and the like stay on it.

    existing: as inspected at the target. Types are not created here. Raises Unsupported ADP-107 where an ALTER
    can't get there (partitioned or not is fixed for life).
    """
    if not partitioned_alike(existing, wanted):
        raise Unsupported("the table is partitioned in another way", code="ADP-107", table=wanted.name)
    shape: Table = as_seen(existing, wanted).with_(types=wanted.types)
    sql = [*render.sql(Truncate(), shape)]
    followed = {c.id: c.type for c in wanted.columns}
    for column in shape.columns:
        if not column.type.is_builtin and followed.get(column.id) == column.type:
            sql += render.of_its_type(column, shape)
    for change in diff(shape, wanted, types):
        between = shape
        for part in () if isinstance(change, TYPE_CHANGES) else _without_rows(change):
            sql += render.sql(part, between)
            between = part.apply(between) or between
        shape = change.apply(shape) or shape
    return tuple(sql)


def _structure(existing: Table | None, wanted: Table, stays: bool, render: Renderer, types: TypeSystem) -> list[Step]:
    if existing is None:
        return [Step(StepKind.SQL, str(CreateTable(wanted)), render.sql(CreateTable(wanted), None))]
    stays_whole = retains_rows(existing)
    if stays_whole or not partitioned_alike(existing, wanted):
        return [
            makes_way(
                existing,
                "its rows stay" if stays_whole else "it can't become what the source has now",
                render,
            ),
            Step(StepKind.SQL, str(CreateTable(wanted)), render.sql(CreateTable(wanted), None)),
        ]
    if stays:
        return []
    return [
        Step(StepKind.SQL, f"use {existing.name} again: emptied, altered", reshape(existing, wanted, render, types))
    ]


def _types(representable: Table, facts: TargetFacts, render: Renderer) -> list[Step]:
    return [step for of in representable.types for step in type_steps(CreateType(of), None, facts, render)]


def _without_rows(change: SchemaChange) -> tuple[SchemaChange, ...]:
    """Return the changes that make this change in an empty table.

    A default that no row can have is refused by ADD COLUMN, not by itself.
    """
    if isinstance(change, ChangeType):
        return (replace(change, using=Using.EMPTY),)
    if not isinstance(change, AddColumn) or change.column.default is None or change.column.generated:
        return (change,)
    column = change.column
    bare = replace(column, default=None, missing=None)
    return AddColumn(bare), ChangeDefault(column.id, column.name, None, column.default)
