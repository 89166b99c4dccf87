"""CREATE TABLE makes a new table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class CreateTable(SchemaChange):
    """This change creates a table, with its key, its types and its place in a partitioned table."""

    kind: ClassVar[str] = "create_table"
    table: Table

    def apply(self, shape: Table | None) -> Table:
        """Return the new table."""
        return self.table

    def describe(self) -> str:
        """Return the table's name."""
        return str(self.table.name)


def spot(old: Table | None, new: Table | None) -> Iterator[CreateTable]:
    """Yield a CreateTable when the new shape's identity is new; a table dropped and created again has another one."""
    if new is not None and (old is None or old.id != new.id):
        yield CreateTable(new)
