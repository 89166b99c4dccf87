"""DROP TABLE: a table that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class DropTable(SchemaChange):
    """The table as it was."""

    kind: ClassVar[str] = "drop_table"
    table: Table

    def apply(self, shape: Table | None) -> None:
        return None

    def describe(self) -> str:
        return str(self.table.name)

    @property
    def hazards(self) -> tuple[str, ...]:
        return (f"{self.table.name} is gone at the source with all its rows",)


def spot(old: Table | None, new: Table | None) -> Iterator[DropTable]:
    """Gone, or replaced by another table."""
    if old is not None and (new is None or old.id != new.id):
        yield DropTable(old)
