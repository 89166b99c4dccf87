"""Type changes at a target where the type may stand already, because other tables use it too."""

from __future__ import annotations

from airflow_ddlrepl.ddl.change import SchemaChange
from airflow_ddlrepl.ddl.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.lexer import canonical
from airflow_ddlrepl.ddl.rename_type import RenameType
from airflow_ddlrepl.ddl.type_edits import edits
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.types import TypeDefinition

TYPE_CHANGES = (CreateType, ForgetType, RenameType, ChangeTypeDefinition, ReplaceType)


def at_target(change: SchemaChange, types: tuple[TypeDefinition, ...] | None) -> SchemaChange | None:
    """The change that the target's type still needs; None: it stands as it should. types None: not known."""
    if types is None:
        return change
    standing = {(t.schema, t.name): t for t in types}
    if isinstance(change, RenameType):
        return change if change.old in standing else None
    if isinstance(change, CreateType):
        return _missing(change, standing.get((change.definition.schema, change.definition.name)))
    if isinstance(change, ChangeTypeDefinition | ReplaceType):
        found = standing.get((change.new.schema, change.new.name))
        return None if found is not None and likeness(found) == likeness(change.new) else change
    return change


def likeness(of: TypeDefinition) -> tuple[object, ...]:
    """What two servers' definitions of one type share."""
    attributes = tuple((a.name, canonical(a.type)) for a in of.attributes)
    base = canonical(of.base) if of.base else None
    return (of.kind, of.labels, attributes, base, frozenset(of.constraints), of.not_null, of.default)


def _missing(change: CreateType, found: TypeDefinition | None) -> SchemaChange | None:
    if found is None:
        return change
    if likeness(found) == likeness(change.definition):
        return None
    steps = edits(found, change.definition)
    if steps is None:
        raise Unsupported(
            f"the target has another type {found.schema}.{found.name}",
            code="ADP-106",
            hint="rename or drop that type at the target",
        )
    return ChangeTypeDefinition(found, change.definition, steps)
