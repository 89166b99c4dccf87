"""ALTER COLUMN … ADD/SET/DROP GENERATED … AS IDENTITY change whether a column is an identity column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeIdentity(TableChange):
    """This change makes a column an identity column, or an ordinary one again.

    old, new: "always", "by default" or "".
    """

    kind: ClassVar[str] = "change_identity"
    id: int
    name: str
    old: str
    new: str

    def alter(self, table: Table) -> Table:
        """Return the table with the column's new identity property."""
        return edit_column(table, self.id, identity=self.new)

    def describe(self) -> str:
        """Return the column's name with its identity property before and after."""
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def spot(old: Table, new: Table) -> Iterator[ChangeIdentity]:
    """Yield a change for each column of both shapes whose identity property differs."""
    for before, after in shared_columns(old, new):
        if before.identity != after.identity:
            yield ChangeIdentity(after.id, after.name, before.identity, after.identity)


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeIdentity]:
    """Yield the changes of columns that stop being identity columns; they come before NOT NULL can be dropped."""
    yield from (change for change in spot(old, new) if not change.new)
