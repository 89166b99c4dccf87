"""ALTER COLUMN … ADD/SET/DROP GENERATED … AS IDENTITY."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeIdentity(TableChange):
    """ "always", "by default" or "" before and after."""

    kind: ClassVar[str] = "change_identity"
    id: int
    name: str
    old: str
    new: str

    def alter(self, table: Table) -> Table:
        return edit_column(table, self.id, identity=self.new)

    def describe(self) -> str:
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def spot(old: Table, new: Table) -> Iterator[ChangeIdentity]:
    """Columns that both shapes have."""
    for before, after in shared_columns(old, new):
        if before.identity != after.identity:
            yield ChangeIdentity(after.id, after.name, before.identity, after.identity)


def spot_dropped(old: Table, new: Table) -> Iterator[ChangeIdentity]:
    """Only those that lose it: it must go before NOT NULL can."""
    yield from (change for change in spot(old, new) if not change.new)
