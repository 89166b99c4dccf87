"""Enroll revisions: shape n of a table, valid from a position."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.model.position import LogKey, Snapshot
from airflow_ddlrepl.model.table import Table


class Origin(StrEnum):
    """How we know the shape."""

    INSPECTED = "inspected"
    IN_LOG = "in-log"
    RECONSTRUCTED = "reconstructed"


@dataclass(frozen=True, slots=True)
class Revision:
    """Shape `number` of a table; rows at or after `key` are decoded with it.

    table is None when the table was dropped at `key`. statement: the DDL that made it, if known.
    is_ambiguous: found by comparing shapes, the statements between are not known. xid: of the transaction
    that made it (64 bits); None when it was found by inspection. seen: what the inspection of a capture that found it
    had seen: the transaction that made it among others.
    """

    table_id: int
    number: int
    key: LogKey
    table: Table | None
    origin: Origin
    statement: str | None = None
    is_ambiguous: bool = False
    xid: int | None = None
    seen: Snapshot | None = None

    def is_in(self, snapshot: Snapshot) -> bool:
        """Was it made by a transaction that this snapshot contains?"""
        if self.xid is not None:
            return snapshot.has(self.xid)
        return self.seen is None or snapshot.covers(self.seen)
