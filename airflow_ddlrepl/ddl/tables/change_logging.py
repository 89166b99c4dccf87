"""ALTER TABLE … SET LOGGED, SET UNLOGGED: does the table write to the log at all?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeLogging(TableChange):
    """An unlogged table's rows never reach a target by the log."""

    kind: ClassVar[str] = "change_logging"
    unlogged: bool

    def alter(self, table: Table) -> Table:
        return table.with_(unlogged=self.unlogged)

    def describe(self) -> str:
        return "unlogged" if self.unlogged else "logged"

    @property
    def hazards(self) -> tuple[str, ...]:
        return ("from here on the table's changes are not in the log",) if self.unlogged else ()


def spot(old: Table, new: Table) -> Iterator[ChangeLogging]:
    """It differs."""
    if old.unlogged != new.unlogged:
        yield ChangeLogging(new.unlogged)
