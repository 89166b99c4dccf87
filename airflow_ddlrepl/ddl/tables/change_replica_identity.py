"""A source table's identity says which old values the log carries of its rows; a target has nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Identity, Table


@dataclass(frozen=True, slots=True)
class ChangeReplicaIdentity(TableChange):
    """This change sets a source table's identity, which only decides what the log carries of old rows."""

    kind: ClassVar[str] = "change_replica_identity"
    old: Identity
    new: Identity

    def alter(self, table: Table) -> Table:
        """Return the table with the new identity."""
        return table.with_(identity=self.new)

    def describe(self) -> str:
        """Return the old and the new identity."""
        return f"{self.old} -> {self.new}"

    @property
    def hazards(self) -> tuple[str, ...]:
        """Return a warning where the server refuses UPDATE and DELETE from now on."""
        if self.new is Identity.NOTHING:
            return ("without an identity of rows the server refuses UPDATE and DELETE on the table",)
        return ()


def spot(old: Table, new: Table) -> Iterator[ChangeReplicaIdentity]:
    """Yield a change when the identities differ."""
    if old.identity != new.identity:
        yield ChangeReplicaIdentity(old.identity, new.identity)
