"""How a table stands at a target: its name and shape there, and whether it is in step with the source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Snapshot
from airflow_ddlrepl.model.table import Table


class TableStatus(StrEnum):
    """How a table stands at a target.

    LIVE: applied in step. NEW: waits for its first refresh, nothing of ours stands there. PENDING: stands and waits
    for a refresh. KEPT: dropped at the source and kept.
    """

    LIVE = "live"
    NEW = "new"
    PENDING = "pending"
    ORPHANED = "kept"


@dataclass(frozen=True, slots=True)
class TableState:
    """One table at one target.

    shape: the target table's shape, columns carrying the source's ids. snapshot: of its last refresh,
    while transactions that the refresh already contains may still come by. properties: what the channel file said of
    it when it got this shape (`Channel.properties_at`).
    """

    table_id: int
    name: TableName
    shape: Table
    state: TableStatus = TableStatus.LIVE
    snapshot: Snapshot | None = None
    properties: str = ""

    def has(self, lsn: int, xid: int) -> bool:
        """Does the target table already contain this transaction, by a refresh?"""
        return self.snapshot is not None and self.snapshot.sees(lsn, xid)
