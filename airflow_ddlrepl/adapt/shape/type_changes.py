"""Tables of a target share user-defined types, and their plans learn of a type's change one after the other.

What tells one type from another is the source's id of it, as the present shapes of the other tables carry it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from airflow_ddlrepl.adapt.plan_model import Step, StepKind
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.types.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.types.rename_type import RenameType
from airflow_ddlrepl.ddl.types.type_edits import AddLabel, edits
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.sql.lexer import canonical

TYPE_CHANGES = (CreateType, ForgetType, RenameType, ChangeTypeDefinition, ReplaceType)


def type_steps(change: SchemaChange, shape: Table | None, facts: TargetFacts, render: Renderer) -> Iterator[Step]:
    """Yield the steps that change a user-defined type: those that all tables share, and what this table does besides.

    shape: the table just before.
    """
    if isinstance(change, CreateType):
        yield from _create(change, facts, render)
    elif isinstance(change, RenameType):
        yield from _rename(change, shape, facts, render)
    elif isinstance(change, ChangeTypeDefinition):
        sql = render.sql(change, None)
        done = any(likeness(t) == likeness(change.new) for t in _elsewhere(change.new.id, facts))
        yield from _type_step(change, render.unless_done(sql) if done else sql, own=change.needs_commit)
    else:
        yield from _type_step(change, render.sql(change, None))


def likeness(of: TypeDefinition) -> tuple[object, ...]:
    """Return the part of a type's definition that is equal on two servers that have the same type."""
    attributes = tuple((a.name, canonical(a.type)) for a in of.attributes)
    base = canonical(of.base) if of.base else None
    return (of.kind, of.labels, attributes, base, frozenset(of.constraints), of.not_null, of.default)


def renewed(
    table: Table, known: Mapping[int, TypeDefinition], there: Container[TableName], render: Renderer
) -> Iterator[str]:
    """Yield the SQL that updates a target's types for a table that is reloaded: the log no longer brings their changes.

    known: the types as the tables of the channel have them at the target, or will have. there: names of types that
    exist. One that can't be altered is renamed, and a new one takes its name.
    """
    for of in table.types:
        was = known.get(of.id, of)
        if not any(TableName(t.schema, t.name) in there for t in (was, of)):
            continue
        if (was.schema, was.name) != (of.schema, of.name):
            renamed = RenameType(of.id, (was.schema, was.name), (of.schema, of.name), ())
            yield from render.unless_done(render.sql(renamed, None))
        if likeness(was) != likeness(of):
            found = edits(was, of)
            change = ChangeTypeDefinition(was, of, found) if found else None
            yield from render.unless_done(render.sql(change, None)) if change else render.make_way(of)


def has_other_types(before: Table, now: Table) -> bool:
    """Did a type that both use change by more than new labels?"""
    known = {of.id: of for of in before.types}
    return any(of.id in known and _is_other(known[of.id], of) for of in now.types)


def _is_other(before: TypeDefinition, now: TypeDefinition) -> bool:
    found = edits(before, now)
    added = found is not None and all(isinstance(edit, AddLabel) for edit in found)
    return not added or (before.schema, before.name) != (now.schema, now.name)


def _elsewhere(type_id: int, facts: TargetFacts) -> list[TypeDefinition]:
    return [t for t in facts.types or () if t.id == type_id]


def _create(change: CreateType, facts: TargetFacts, render: Renderer) -> Iterator[Step]:
    """Yield the steps for a type that is new to this table.

    A type that another table has in its former definition is updated; one of that name that no table uses is renamed.
    """
    of = change.definition
    known = _elsewhere(of.id, facts)
    name = (of.schema, of.name)
    if known:
        if all((t.schema, t.name) != name for t in known):
            renamed = RenameType(of.id, (known[0].schema, known[0].name), name, ())
            yield from _type_step(renamed, render.sql(renamed, None))
        if all(likeness(t) != likeness(of) for t in known) and (found := edits(known[0], of)):
            changed = ChangeTypeDefinition(known[0], of, found)
            yield from _type_step(changed, render.unless_done(render.sql(changed, None)), own=changed.needs_commit)
    elif facts.types is not None:
        yield from _type_step(f"another type {of.schema}.{of.name} makes way", render.make_way(of))
    yield from _type_step(change, render.sql(change, None))


def _rename(change: RenameType, shape: Table | None, facts: TargetFacts, render: Renderer) -> Iterator[Step]:
    """Yield the steps that rename a type.

    Where another table has the new name already, the type has it too, or there are two: this table moves over.
    """
    if any((t.schema, t.name) == change.new for t in _elsewhere(change.id, facts)):
        sql = render.sql(change, shape) if shape is not None else ()
        yield from (Step(StepKind.SQL, str(change), sql) for _ in sql[:1])
    else:
        yield from _type_step(change, render.sql(change, None))


def _type_step(change: SchemaChange | str, sql: tuple[str, ...], *, own: bool = False) -> Iterator[Step]:
    if sql:
        yield Step(StepKind.SQL, str(change), sql, own_transaction=own, shared=True)
