"""DROP TABLE removes a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class DropTable(SchemaChange):
    """This change drops a table; `table` is its last shape."""

    kind: ClassVar[str] = "drop_table"
    table: Table

    def apply(self, shape: Table | None) -> None:
        """Return None: there is no table afterwards."""
        return None

    def describe(self) -> str:
        """Return the table's name."""
        return str(self.table.name)

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return the warning that all rows are gone at the source."""
        return (f"{self.table.name} was dropped at the source, with all its rows",)


def spot(old: Table | None, new: Table | None) -> Iterator[DropTable]:
    """Yield a DropTable when the table is gone, or another table has taken its place."""
    if old is not None and (new is None or old.id != new.id):
        yield DropTable(old)
