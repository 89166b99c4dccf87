"""A column of a target may not be able to hold each value of the source's column; a text may be cut. Pure."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeKind

_WIDER = {
    ("int2", "int4"), ("int2", "int8"), ("int4", "int8"), ("int2", "numeric"), ("int4", "numeric"),
    ("int8", "numeric"), ("float4", "float8"), ("date", "timestamp"),
}  # fmt: skip
"""Types of the source, and types that hold all their values where they have no size."""
_TEXT = DataType("text", SYSTEM_SCHEMA, "text", id=25)
_LIMITED = ("varchar", "bpchar")
_ANY_TEXTS = (*_LIMITED, "text")


TOLD_DISCARDED = " rows do not fit the target's columns and are discarded (coerce_error_policy)"
"""The end of a warning about discarded rows; their number comes before it."""


def null_warning(column: Column) -> str:
    """Return the end of a warning about values of a column that became NULL; their number comes before it."""
    return f" values of column {column.name} do not fit {column.type.text} and are NULL (coerce_error_policy)"


def may_not_fit(source: Column, target: Column) -> bool:
    """May there be a value of the source's column that the target's can't hold?"""
    theirs, ours = source.type, target.type
    if target.generated or same_type(theirs, ours) or not ours.is_builtin or ours.kind is not TypeKind.BASE:
        return False
    if ours.name in ("text", "varchar") and ours.modifier < 0:
        return False
    if not theirs.is_builtin or theirs.kind is not TypeKind.BASE:
        return True
    if (theirs.name, ours.name) == ("varchar", "varchar"):
        return not 0 <= theirs.modifier <= ours.modifier
    return ours.modifier >= 0 or (theirs.name, ours.name) not in _WIDER


def as_text(column: Column) -> Column:
    """Return a column of the target that takes the text of any value, whether the target's type holds it or not."""
    return replace(column, type=_TEXT, default=None, missing=None, collation=None, identity="")


def is_cut(source: Column, target: Column) -> bool:
    """May the target's column be too short for a text of the source's?"""
    theirs, ours = source.type, target.type
    if not (_is_one(theirs, _ANY_TEXTS) and _is_one(ours, _LIMITED)) or target.generated or ours.modifier < 0:
        return False
    return theirs.modifier < 0 or theirs.modifier > ours.modifier


def _is_one(of: DataType, names: tuple[str, ...]) -> bool:
    return of.is_builtin and of.name in names
