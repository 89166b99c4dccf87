"""This module finds unlogged schema changes that leave open whether a row was written before or after them."""

from __future__ import annotations

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey, is_same_key
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.ports.types import TypeSystem


def why_ambiguous(before: Table, now: Table, types: TypeSystem) -> str:
    """Return why rows written meanwhile may have either shape, or one in between; "" when the log shows which.

    The log shows each row's columns by name and type, in order, computed ones among them or not. It doesn't show that a
    column of the same name was dropped and added, nor what a type, a constraint or a key allowed at that moment.
    """
    found = diff(before, now, types)
    return next((why for change in found if (why := _why(change, before, now))), _mixed(found, before))


def _why(change: SchemaChange, before: Table, now: Table) -> str:
    if isinstance(change, ChangeTypeDefinition | ReplaceType):
        return "a type changed at a moment that the log does not show"
    if isinstance(change, ChangeNullability) and change.nullable:
        return f"column {change.name} allows NULL since a moment that the log does not show"
    if isinstance(change, ChangeKey) and before.key is not None and not is_same_key(before.key, now.key):
        is_shown = before.identity is now.identity is Identity.DEFAULT
        return "" if is_shown else "the key changed at a moment that the log does not show"
    if isinstance(change, ChangeGenerated) and change.old.generated == "stored" and not change.generated:
        return f"column {change.old.name} is no longer computed, since a moment that the log does not show"
    return ""


def _mixed(found: tuple[SchemaChange, ...], before: Table) -> str:
    added = [c.column.id for c in found if isinstance(c, AddColumn)]
    last = max((c.id for c in before.columns), default=0)
    has_gap = added != list(range(last + 1, last + 1 + len(added)))
    has_both = bool(added) and any(isinstance(c, DropColumn) for c in found)
    return "columns were added and dropped: a row's values may belong to either" if has_both or has_gap else ""
