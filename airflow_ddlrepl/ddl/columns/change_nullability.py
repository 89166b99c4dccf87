"""ALTER COLUMN … SET NOT NULL, DROP NOT NULL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeNullability(TableChange):
    """May the column hold NULL from now on?"""

    kind: ClassVar[str] = "change_nullability"
    id: int
    name: str
    nullable: bool

    def alter(self, table: Table) -> Table:
        return edit_column(table, self.id, nullable=self.nullable)

    def describe(self) -> str:
        return f"{self.name} {'null' if self.nullable else 'not null'}"


def spot(old: Table, new: Table) -> Iterator[ChangeNullability]:
    """Columns that both shapes have."""
    for before, after in shared_columns(old, new):
        if before.nullable != after.nullable:
            yield ChangeNullability(after.id, after.name, after.nullable)
