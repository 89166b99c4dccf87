"""ALTER TABLE … REPLICA IDENTITY: what the log tells of old rows. Nothing to do at a target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from airflow_ddlrepl.ddl.base.change import TableChange
from airflow_ddlrepl.model.table import Identity, Table


@dataclass(frozen=True, slots=True)
class ChangeReplicaIdentity(TableChange):
    """Matters to the decoder only."""

    kind: ClassVar[str] = "change_replica_identity"
    old: Identity
    new: Identity

    def alter(self, table: Table) -> Table:
        return table.with_(identity=self.new)

    def describe(self) -> str:
        return f"{self.old} -> {self.new}"

    @property
    def hazards(self) -> tuple[str, ...]:
        if self.new is Identity.NOTHING:
            return ("REPLICA IDENTITY NOTHING: the server refuses UPDATE and DELETE on the published table",)
        return ()


def spot(old: Table, new: Table) -> Iterator[ChangeReplicaIdentity]:
    """It differs."""
    if old.identity != new.identity:
        yield ChangeReplicaIdentity(old.identity, new.identity)
