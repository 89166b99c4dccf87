"""ALTER TABLE … RENAME COLUMN: the same identity under another name, never drop + add."""

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
    """One rename; a swap of two names is three of them."""

    kind: ClassVar[str] = "rename_column"
    id: int
    old: str
    new: str

    def alter(self, table: Table) -> Table:
        """Expressions and the partition key follow, as the server makes them follow."""
        columns = tuple(
            replace(c, default=renamed(c.default, self.old, self.new)) if c.generated and c.default else c
            for c in table.columns
        )
        how, _, key = (table.partition_key or "").partition(" ")
        partition_key = f"{how} {renamed(key, self.old, self.new)}" if key else None
        return edit_column(table.with_(columns=columns, partition_key=partition_key), self.id, name=self.new)

    def describe(self) -> str:
        return f"{self.old} -> {self.new}"


def spot(old: Table, new: Table) -> Iterator[RenameColumn]:
    """In an order in which no name is taken twice."""
    renames = {before.id: (before.name, after.name) for before, after in shared_columns(old, new)}
    table_state = frozenset(c.name for c in old.columns)
    yield from (RenameColumn(*single) for single in renames_in_order(renames, table_state))
