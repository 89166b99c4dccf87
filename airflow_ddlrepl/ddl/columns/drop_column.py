"""ALTER TABLE … DROP COLUMN drops a column of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.columns.column_order import to_drop
from airflow_ddlrepl.model.table import Column, Table


@dataclass(frozen=True, slots=True)
class DropColumn(TableChange):
    """This change drops a column of a table, and every key that uses it.

    column: the column as it was.
    """

    kind: ClassVar[str] = "drop_column"
    column: Column

    def alter(self, table: Table) -> Table:
        """Return the table without the column and without keys that use it."""
        left = table.with_(columns=tuple(c for c in table.columns if c.id != self.column.id))
        return left.with_keys_of({c.id for c in left.columns})

    def describe(self) -> str:
        """Return the column's name."""
        return self.column.name

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return the warning that the column's values are lost at the target."""
        return self.losses

    @property
    def losses(self) -> tuple[str, ...]:
        """Return the same: they are lost."""
        return (f"the values of column {self.column.name} are lost at the target",)


def spot(old: Table, new: Table) -> Iterator[DropColumn]:
    """Yield a DropColumn for each column that only the old shape has by identity.

    Generated columns come first, for they may depend on the others.
    """
    staying = {c.id for c in new.columns}
    yield from (DropColumn(column) for column in to_drop(c for c in old.columns if c.id not in staying))
