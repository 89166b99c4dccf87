"""Changes of the texts that a target holds for values of a user-defined type whose definition changes."""

from __future__ import annotations

from collections.abc import Callable

from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition
from airflow_ddlrepl.ddl.types.type_edits import AddAttribute, DropAttribute, RenameLabel
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind


def new_texts(change: ChangeTypeDefinition, before: Table, update: Callable[[str, str, str], str]) -> list[str]:
    """Return the SQL that gives rows the new text of a label. update: of a column, with the old text and the new one.

    Raises Unsupported ADP-110 for attributes that come or go, ADP-111 for a label inside an array or another type:
    these are parts of texts that nobody takes apart.
    """
    if any(isinstance(edit, AddAttribute | DropAttribute) for edit in change.edits):
        raise _refused("ADP-110", f"values of {change.old.name} are texts at this target, with its attributes", before)
    renamed = [edit for edit in change.edits if isinstance(edit, RenameLabel)]
    if not renamed:
        return []
    of, containing = change.old, _containing(change.old, before)
    for column in before.columns:
        if (column.type.schema, column.type.name) in containing or (
            _is_of(column.type.schema, column.type.name, of) and column.type.kind is not TypeKind.ENUM
        ):
            raise _refused("ADP-111", f"column {column.name} has labels of {of.name} inside of texts", before)
    return [
        update(column.name, edit.old, edit.new)
        for edit in renamed
        for column in before.columns
        if _is_of(column.type.schema, column.type.name, of)
    ]


def _is_of(schema: str, name: str, of: TypeDefinition) -> bool:
    return (schema, name) == (of.schema, of.name)


def _containing(of: TypeDefinition, table: Table) -> set[tuple[str, str]]:
    """Return the schemas and names of the types that contain values of another one, at any depth."""
    inner, found = {f"{of.schema}.{of.name}"}, set[tuple[str, str]]()
    for _ in table.types:
        for one in table.types:
            parts = (one.base or "", *(attribute.type for attribute in one.attributes))
            if any(part.replace('"', "").removesuffix("[]") in inner for part in parts):
                inner.add(f"{one.schema}.{one.name}")
                found.add((one.schema, one.name))
    return found


def _refused(code: str, why: str, table: Table) -> Unsupported:
    return Unsupported(why, code=code, table=table.name, hint="load this table again: ddlrepl refresh --table")
