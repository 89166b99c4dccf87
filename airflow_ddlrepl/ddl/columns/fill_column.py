"""Give the rows that stand one known value in a column. Follows from a change at the target, never spotted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class FillColumn(TableChange):
    """value: as text, of the column's type."""

    kind: ClassVar[str] = "fill_column"
    column: Column
    value: str

    def alter(self, table: Table) -> Table:
        return table

    def describe(self) -> str:
        return f"{self.column.name} = {self.value}"
