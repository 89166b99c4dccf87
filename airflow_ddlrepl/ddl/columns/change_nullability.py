"""ALTER COLUMN … SET NOT NULL, DROP NOT NULL change whether a column takes NULL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeNullability(TableChange):
    """This change lets a column take NULL from now on (`nullable`), or lets it refuse NULL."""

    kind: ClassVar[str] = "change_nullability"
    id: int
    name: str
    nullable: bool

    def alter(self, table: Table) -> Table:
        """Return the table with the column nullable or not."""
        return edit_column(table, self.id, nullable=self.nullable)

    def describe(self) -> str:
        """Return the column's name with "null" or "not null"."""
        return f"{self.name} {'null' if self.nullable else 'not null'}"


def spot(old: Table, new: Table) -> Iterator[ChangeNullability]:
    """Yield a change for each column of both shapes that takes NULL in only one of them."""
    for before, after in shared_columns(old, new):
        if before.nullable != after.nullable:
            yield ChangeNullability(after.id, after.name, after.nullable)
