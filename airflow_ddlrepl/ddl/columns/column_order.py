"""This module orders changes of a table's columns so that each expression finds the columns it uses.

A generated column may use plain columns of its table, never another generated one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_ddlrepl.ddl.columns import change_type
from airflow_ddlrepl.ddl.columns.column_names import mentions
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.sql.lexer import canonical


def to_add(columns: Iterable[Column]) -> list[Column]:
    """Return new columns in the order in which they can be added: generated ones after the columns they use."""
    return sorted(columns, key=lambda column: bool(column.generated))


def to_drop(columns: Iterable[Column]) -> list[Column]:
    """Return columns in the order in which they can be dropped: generated ones before the columns they use."""
    return sorted(columns, key=lambda column: not column.generated)


def blocking_columns(old: Table, new: Table) -> Iterator[Column]:
    """Yield the new form of the generated columns that block a change of the columns they use.

    The server drops, retypes or computes no column that a generated one uses, and can't give a generated column a type
    that its present expression does not have. What only has the name of such an input counts as one: the generated
    column is then made again without need.
    """
    after = {column.id: column for column in new.columns}
    retyped = {after.id for _, after in change_type.retyped(old, new)}
    altered = {c.name for c in old.columns if not c.generated and (c.id in retyped or _is_gone(after.get(c.id)))}
    for column in old.columns:
        now = after.get(column.id)
        if not column.generated or now is None or not now.generated:
            continue
        is_other = canonical(column.default or "") != canonical(now.default or "")
        if (column.id in retyped and is_other) or any(mentions(column.default or "", name) for name in altered):
            yield now


def _is_gone(now: Column | None) -> bool:
    """Is a plain column dropped, or does it become a generated column?"""
    return now is None or bool(now.generated)
