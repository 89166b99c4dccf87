"""ALTER TABLE … RENAME COLUMN gives a column another name; it is never a drop and an add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, renames_in_order, shared_columns
from airflow_ddlrepl.ddl.columns.column_names import renamed
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class RenameColumn(TableChange):
    """This change renames a column; a swap of two names is three renames."""

    kind: ClassVar[str] = "rename_column"
    id: int
    old: str
    new: str

    def alter(self, table: Table) -> Table:
        """Return the table with the new name, also inside generation expressions and the partition key."""
        columns = tuple(
            replace(c, default=renamed(c.default, self.old, self.new)) if c.generated and c.default else c
            for c in table.columns
        )
        how, _, key = (table.partition_key or "").partition(" ")
        partition_key = f"{how} {renamed(key, self.old, self.new)}" if key else None
        return edit_column(table.with_(columns=columns, partition_key=partition_key), self.id, name=self.new)

    def describe(self) -> str:
        """Return the old and the new name."""
        return f"{self.old} -> {self.new}"


def spot(old: Table, new: Table) -> Iterator[RenameColumn]:
    """Yield the renames in an order in which no name is taken twice."""
    renames = {before.id: (before.name, after.name) for before, after in shared_columns(old, new)}
    in_use = frozenset(c.name for c in old.columns)
    yield from (RenameColumn(*single) for single in renames_in_order(renames, in_use))
