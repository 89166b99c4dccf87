"""ALTER TABLE … ADD COLUMN adds a column to a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.columns.column_order import to_add
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class AddColumn(TableChange):
    """This change adds a column to a table.

    column.missing is what existing rows show in the column; None: they show NULL, or only the source knows.
    """

    kind: ClassVar[str] = "add_column"
    column: Column

    def alter(self, table: Table) -> Table:
        """Return the table with the new column in its place by identity."""
        return table.with_(columns=tuple(sorted((*table.columns, self.column), key=lambda c: c.id)))

    def describe(self) -> str:
        """Return the column's name and type."""
        return f"{self.column.name} {self.column.type.text}"


def spot(old: Table, new: Table) -> Iterator[AddColumn]:
    """Yield an AddColumn for each column that only the new shape has by identity, generated ones last."""
    known = {c.id for c in old.columns}
    yield from (AddColumn(column) for column in to_add(c for c in new.columns if c.id not in known))
