"""ALTER TABLE … RENAME TO and SET SCHEMA change a table's name or schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class RenameTable(TableChange):
    """This change renames a table, moves it to another schema, or does both."""

    kind: ClassVar[str] = "rename_table"
    old: TableName
    new: TableName

    def alter(self, table: Table) -> Table:
        """Return the table with the new name."""
        return table.with_(name=self.new)

    def describe(self) -> str:
        """Return the old and the new name."""
        return f"{self.old} -> {self.new}"


def spot(old: Table, new: Table) -> Iterator[RenameTable]:
    """Yield a change when the names differ."""
    if old.name != new.name:
        yield RenameTable(old.name, new.name)
