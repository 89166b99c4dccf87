"""A part of the log may be more than the server can send: a gigabyte, in one row or one message.

The server ends every reading of the log there, and can't leave out one change of a transaction. So the transaction is
left out whole, and the tables that it may have written to are loaded again (`oversized_search.py` finds them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.errors import OversizedChange
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position

CODE = "SRC-195"
TEXTS = re.compile(r"invalid memory alloc request size|enlarge string buffer|string buffer exceeds maximum")


def oversized(text: str, at: Position, table: TableName | None = None) -> OversizedChange:
    """Return the error of a change that the server can't send. at: where it is, or where the reading began."""
    return OversizedChange(
        f"the log has a change that is larger than the server can send: {text}",
        said=text,
        code=CODE,
        table=table,
        at=at,
        hint="PostgreSQL sends at most 1 GB for one row or message. Its transaction is left out and its tables are"
        " loaded again, where the role may read the log by the replication protocol; keep rows below that",
    )


@dataclass(frozen=True, slots=True)
class Oversized:
    """An oversized part of the log is a transaction that the server can't send.

    low, high: the part; its commit is in it alone. at: the change that is too large. tables: those that the transaction
    may have written to, with their ids.
    """

    low: Position
    high: Position
    at: Position
    xid: int
    committed: int
    tables: tuple[tuple[int, TableName], ...] = ()

    @property
    def why(self) -> str:
        """Return why the tables are loaded again."""
        return f"{CODE}: transaction {self.xid} at {self.low} has a change that is larger than the server can send"

    def events(self) -> Iterator[Event]:
        """Yield the control records of the part: its schema changes are not known, and these tables wait for a load."""
        place = (LogKey(self.low, START_OF_TRANSACTION), self.xid, self.committed)
        yield Event(EventKind.GAP, *place, statement=self.why, is_left_out=True)
        for table_id, _ in self.tables:
            layout = {"table_id": table_id, "until": int(self.low), "why": self.why}
            yield Event(EventKind.RELATION, *place, layout=layout, is_inspected=True, is_left_out=True)


def around(low: Position, high: Position, parts: Sequence[Oversized]) -> Iterator[tuple[Position, Position]]:
    """Yield the stretches of a window between its oversized parts."""
    for part in sorted(parts, key=lambda one: one.low):
        if low < part.low:
            yield low, part.low
        low = part.high
    if low < high:
        yield low, high
