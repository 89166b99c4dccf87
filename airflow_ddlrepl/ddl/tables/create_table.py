"""CREATE TABLE: a table that was not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class CreateTable(SchemaChange):
    """The whole table, with its key, types and place in a partitioned table."""

    kind: ClassVar[str] = "create_table"
    table: Table

    def apply(self, shape: Table | None) -> Table:
        return self.table

    def describe(self) -> str:
        return str(self.table.name)


def spot(old: Table | None, new: Table | None) -> Iterator[CreateTable]:
    """New under this identity; a table dropped and created again has another one."""
    if new is not None and (old is None or old.id != new.id):
        yield CreateTable(new)
