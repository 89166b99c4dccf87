"""ALTER COLUMN … SET DEFAULT, DROP DEFAULT change what new rows get, not the values of existing rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.ddl.base.edit import edit_column, shared_columns
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeDefault(TableChange):
    """This change sets or drops a column's default.

    old, new: expressions as the catalog prints them; None: no default.
    """

    kind: ClassVar[str] = "change_default"
    id: int
    name: str
    old: str | None
    new: str | None

    def alter(self, table: Table) -> Table:
        """Return the table with the column's new default."""
        return edit_column(table, self.id, default=self.new)

    def describe(self) -> str:
        """Return the column's name with the old and the new default."""
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def spot(old: Table, new: Table) -> Iterator[ChangeDefault]:
    """Yield a change for each plain column whose default differs; a generated column's expression is another kind."""
    for before, after in shared_columns(old, new):
        if before.default != after.default and not before.generated and not after.generated:
            yield ChangeDefault(after.id, after.name, before.default, after.default)


def spot_blocking(old: Table, new: Table) -> Iterator[ChangeDefault]:
    """Yield a change that drops a default wherever it must go before the column's type can change."""
    for before, after in shared_columns(old, new):
        if before.default is None or before.generated or before.type.id == after.type.id:
            continue
        if before.default != after.default or not (before.type.is_builtin and after.type.is_builtin):
            yield ChangeDefault(after.id, after.name, before.default, None)
