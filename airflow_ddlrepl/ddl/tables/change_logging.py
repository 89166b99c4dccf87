"""ALTER TABLE … SET LOGGED, SET UNLOGGED change whether the source writes the table's changes to its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeLogging(TableChange):
    """This change makes a table logged or unlogged; the log never carries rows of an unlogged table to a target."""

    kind: ClassVar[str] = "change_logging"
    unlogged: bool

    def alter(self, table: Table) -> Table:
        """Return the table logged or unlogged."""
        return table.with_(unlogged=self.unlogged)

    def describe(self) -> str:
        """Return "unlogged" or "logged"."""
        return "unlogged" if self.unlogged else "logged"

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning where the table becomes unlogged."""
        return ("from here on the table's changes are not in the log",) if self.unlogged else ()


def spot(old: Table, new: Table) -> Iterator[ChangeLogging]:
    """Yield a change when only one of the shapes is unlogged."""
    if old.unlogged != new.unlogged:
        yield ChangeLogging(new.unlogged)
