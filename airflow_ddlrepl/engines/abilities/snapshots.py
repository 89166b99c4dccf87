"""Targets that retain snapshots of their tables can roll a table back to one of these, without reading the source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState


@dataclass(frozen=True, slots=True)
class RolledBackTo:
    """This is the snapshot to which a table was rolled back.

    position: up to which the table has the source's log in it; None: as far as the channel has stored of the table.
    undone, stay: what somebody else has written behind it, and before it, each as text.
    """

    snapshot: int
    position: Position | None
    undone: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()


LOAD = "without --from-snapshot `ddlrepl refresh --table` loads it from the source"


def can_not_roll_back(table: TableName, why: str, hint: str = LOAD) -> TargetError:
    """Return the error that a table can't be rolled back to a snapshot of its own."""
    return TargetError(
        f"{table} can't be rolled back to a snapshot of its own: {why}", code="REF-102", table=table, hint=hint
    )


class HasSnapshots(Ability, ABC):
    """A target has snapshots where a table can be taken back to what a run of the channel had left in it."""

    lack = Lack("has no snapshots of its tables", LOAD)

    @abstractmethod
    def roll_back(
        self, table: TableState, wanted: int | None, after: Callable[[RolledBackTo], TableState], fence: Fence
    ) -> RolledBackTo:
        """Take a table back to a snapshot that the channel has left, and store its state, in one transaction.

        table: its state now. wanted: the snapshot's id; None: the newest one. after: returns the state with the
        snapshot. Raises TargetError REF-102 where there is no such snapshot, TGT-112 where somebody else writes to the
        table meanwhile, Fenced LCK-102.
        """
