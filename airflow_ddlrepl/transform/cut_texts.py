"""A text that is longer than the target's column is cut there, where the channel file says so. Pure."""

from __future__ import annotations

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType

_LIMITED = ("varchar", "bpchar")
_TEXTS = (*_LIMITED, "text")


def is_cut(source: Column, target: Column) -> bool:
    """May the target's column be too short for a text of the source's?"""
    theirs, ours = source.type, target.type
    if not (_is_one(theirs, _TEXTS) and _is_one(ours, _LIMITED)) or target.generated or ours.typmod < 0:
        return False
    return theirs.typmod < 0 or theirs.typmod > ours.typmod


def _is_one(of: DataType, names: tuple[str, ...]) -> bool:
    return of.is_builtin and of.name in names
