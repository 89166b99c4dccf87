"""TRUNCATE removes all rows and leaves the shape; it is found in the log, never between two shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class Truncate(TableChange):
    """This change removes all rows of a table; the log names every emptied table, so a target never repeats CASCADE."""

    kind: ClassVar[str] = "truncate"
    restart_identity: bool = False

    def alter(self, table: Table) -> Table:
        """Return the table unchanged: only rows go."""
        return table

    def describe(self) -> str:
        """Return "restart identity" where the statement has it, else nothing."""
        return "restart identity" if self.restart_identity else ""

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return the warning that all rows of the table are deleted."""
        return ("all rows of the table are deleted",)
