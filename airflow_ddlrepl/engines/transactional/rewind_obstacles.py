"""This module says what is in the way of a rewind, in targets that know their tables by name alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableState, TableStatus


@dataclass(frozen=True, slots=True)
class NamedObstacles:
    """Obstacles are tables and views under the names that a rewind needs that are not known to be an earlier one's.

    qualified: writes a name in SQL. where: to run that SQL. instead: what the replay can be given.
    """

    qualified: Callable[[TableName], str]
    where: str
    instead: str
    found: tuple[tuple[str, TableName], ...] = ()

    def error(self) -> CannotRewind:
        """Return the error CannotRewind REW-105."""
        names = ", ".join(f"{kind} {name}" for kind, name in self.found)
        drops = "; ".join(f"DROP {kind.upper()} {self.qualified(name)}" for kind, name in self.found)
        return CannotRewind(
            f"objects that the rewind did not create exist where it would build its tables: {names}",
            code="REW-105",
            hint=f"if an earlier rewind created them, before `ddlrepl deactivate`{self.where}: {drops}"
            f"\n        else give the replay {self.instead} of its own, or `schemas` of its own",
        )


def tables_of(states: Iterable[TableState]) -> list[TableName]:
    """Return the names of the tables that are there; a partitioned one is a view, which goes with its state."""
    return [one.name for one in states if one.state is not TableStatus.NEW and not one.shape.is_partitioned]
