"""TRUNCATE: all rows go, the shape stays. Found in the log, never between two shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class Truncate(TableChange):
    """The log names every table that was emptied, so CASCADE is never repeated at a target."""

    kind: ClassVar[str] = "truncate"
    restart_identity: bool = False

    def alter(self, table: Table) -> Table:
        return table

    def describe(self) -> str:
        return "restart identity" if self.restart_identity else ""

    @property
    def hazards(self) -> tuple[str, ...]:
        return ("all rows of the table go",)
