"""The ledger of a target whose DDL can't be rolled back: what is begun there, and how far, so that it is done once.

Before a statement runs, the target stores the entry with what its tables look like: the intent. After the last one it
stores what the entry makes of its state and forgets the entry: done. A run that finds an entry knows by the look of the
tables whether the statement at which it stands has acted, and does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import AlterRefused
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import Record, RefreshRequested, from_json, to_json
from airflow_ddlrepl.model.table_state import TableState, TableStatus


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change of a target in several statements, and what its state is after the last one.

    statements: in order. tables: that they may change, by name. states: of tables afterwards, by id. gone: ids of those
    that the target has no more. key: the place in the log up to which these tables come, itself included; None: it is
    no change of the log. records: for the repository. done: how many of the statements have acted for sure.
    look: what the tables looked like before the next one.
    """

    statements: tuple[str, ...]
    tables: tuple[TableName, ...]
    states: Mapping[int, TableState] = field(default_factory=dict)
    gone: tuple[int, ...] = ()
    key: LogKey | None = None
    records: tuple[Record, ...] = ()
    done: int = 0
    look: str = ""

    @property
    def table_positions(self) -> dict[int, LogKey]:
        """Return how far each table is applied when the entry is done."""
        if self.key is None:
            return {}
        after = LogKey(self.key.lsn, self.key.seq + 1)
        return dict.fromkeys((*self.states, *self.gone), after)

    def halted(self, why: str) -> LedgerEntry:
        """Return the entry as it ends where the target refuses the rest: its tables wait for a refresh."""
        states = {
            i: one if one.shape.is_partitioned else replace(one, state=TableStatus.PENDING, snapshot=None)
            for i, one in self.states.items()
            if one.state is TableStatus.LIVE
        }
        at = Position(self.key.lsn if self.key else 0)
        asked = tuple(RefreshRequested(i, f"done in part: {why}", at) for i in states)
        return replace(self, states={**self.states, **states}, records=(*self.records, *asked))

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {
            "statements": list(self.statements),
            "tables": [list(name) for name in self.tables],
            "states": [state.to_json() for state in self.states.values()],
            "gone": list(self.gone),
            "key": list(self.key) if self.key else None,
            "records": [to_json(record) for record in self.records],
            "done": self.done,
            "look": self.look,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LedgerEntry:
        """Return the entry that `to_json` wrote."""
        states = [TableState.from_json(one) for one in data["states"]]
        return cls(
            statements=tuple(data["statements"]),
            tables=tuple(TableName(*name) for name in data["tables"]),
            states={one.table_id: one for one in states},
            gone=tuple(data["gone"]),
            key=LogKey(*data["key"]) if data["key"] else None,
            records=tuple(from_json(one) for one in data["records"]),
            done=int(data["done"]),
            look=data["look"],
        )


class Ledger(Protocol):
    """Where a target stores the entry that is begun, and what it must be able to do with one."""

    def begun(self) -> LedgerEntry | None:
        """Return the entry that is begun and not done."""
        ...

    def begin(self, entry: LedgerEntry, fence: Fence) -> None:
        """Store the entry, durably, in the place of the one before. Raises Fenced LCK-102."""
        ...

    def look(self, tables: Sequence[TableName]) -> str:
        """Return a text that is another one after each statement that has changed anything of these tables."""
        ...

    def execute(self, statement: str) -> None:
        """Run a statement, which no transaction protects. Raises AlterRefused where the target refuses it."""
        ...

    def finish(self, entry: LedgerEntry, fence: Fence) -> None:
        """Write the entry's states, positions and records, and forget it: all or nothing. Raises Fenced LCK-102."""
        ...

    def cancel(self, fence: Fence) -> None:
        """Forget the entry that is begun: nothing of it was done. Raises Fenced LCK-102."""
        ...


def run_entry(ledger: Ledger, entry: LedgerEntry, fence: Fence) -> str:
    """Do what is left of an entry, and return why its tables have to be loaded again: empty when all went well.

    Raises AlterRefused where the target refuses its first statement: then nothing is done. Fenced LCK-102.
    """
    for number in range(entry.done, len(entry.statements)):
        entry = replace(entry, done=number, look=ledger.look(entry.tables))
        ledger.begin(entry, fence)
        reach("ledger.begun")
        try:
            ledger.execute(entry.statements[number])
        except AlterRefused as error:
            if not number:
                ledger.cancel(fence)
                raise
            ledger.finish(entry.halted(error.message), fence)
            return error.message
        reach("ledger.acted")
    ledger.finish(entry, fence)
    reach("ledger.done")
    return ""


def finish_begun(ledger: Ledger, fence: Fence) -> None:
    """Do to its end what a run that was killed has begun. Raises Fenced LCK-102."""
    entry = ledger.begun()
    if entry is None:
        return
    if ledger.look(entry.tables) != entry.look:
        entry = replace(entry, done=entry.done + 1)
    try:
        run_entry(ledger, entry, fence)
    except AlterRefused:  # of its first statement: the run that comes to it says so
        return
