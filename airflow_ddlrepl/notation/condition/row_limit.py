"""A row limit is a condition over the source's columns, as the rows of a target's table meet it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part


@dataclass(frozen=True, slots=True)
class RowLimit:
    """A row limit selects rows of a target's table.

    columns: the source's column and the target's that has its values, by the source's name.
    """

    condition: Part
    columns: Mapping[str, tuple[Column, Column]]


def row_limit(condition: Part, table: Table, shape: Table) -> RowLimit:
    """Return the limit for a target's table. table: the source's; shape: the target's.

    Raises KeyError where one lacks a column; `require_lasting` and `conditions_at` refuse such a condition before.
    """
    ours, theirs = {c.id: c for c in shape.columns}, {c.name: c for c in table.columns}
    return RowLimit(condition, {name: (theirs[name], ours[theirs[name].id]) for name in condition.names()})
