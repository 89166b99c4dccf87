"""A fill sets a column to one known value in all existing rows of a target's table.

It follows from another change at the target; it is never found between two shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class FillColumn(TableChange):
    """This change sets a column to one value in all existing rows.

    value: a text of the column's type.
    """

    kind: ClassVar[str] = "fill_column"
    column: Column
    value: str

    def alter(self, table: Table) -> Table:
        """Return the table unchanged: only rows change."""
        return table

    def describe(self) -> str:
        """Return the column's name and the value."""
        return f"{self.column.name} = {self.value}"
