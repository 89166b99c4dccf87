"""A revision is the n-th shape of a table that capture has enrolled, valid from a position on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility


class Origin(StrEnum):
    """A revision's origin is how capture learned its shape."""

    INSPECTED = "inspected"
    IN_LOG = "in-log"


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision is shape `number` of a table; rows at or after `key` are decoded with it.

    table is None when the table was dropped at `key`. statement: the DDL that made it, if known.
    is_ambiguous: found by comparing shapes, the statements between are not known. transaction_id: of the transaction
    that made it (64 bits); None when it was found by inspection. seen: the snapshot of the inspection that found it,
    which contains the transaction that made it.
    """

    table_id: int
    number: int
    key: LogKey
    table: Table | None
    origin: Origin
    statement: str | None = None
    is_ambiguous: bool = False
    transaction_id: int | None = None
    seen: Visibility | None = None

    def is_in(self, snapshot: Visibility) -> bool:
        """Return whether this snapshot contains the transaction that made the revision."""
        if self.transaction_id is not None:
            return snapshot.has(self.transaction_id)
        return self.seen is None or snapshot.covers(self.seen)
