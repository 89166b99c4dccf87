"""This module defines the ledger of a target whose DDL can't be rolled back, so that each schema change is made once.

Before a statement runs, the target stores the entry with what its tables look like: the intent. After the last one it
stores what the entry makes of its state and forgets the entry: done. A run that finds an entry compares the look of
the tables with the stored one: so it knows whether the statement that was next has acted, and does the rest. Nobody
else may change these tables between the two runs: it would be taken for the statement.
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
from airflow_ddlrepl.model.record import Record, RefreshRequested, StepApplied, from_json, to_json
from airflow_ddlrepl.model.table_state import TableState, TableStatus


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A ledger entry is a change of a target in several statements, with the target's state after the last one.

    statements: in order. tables: names of those that they may change. states: of tables afterwards, by id. gone: ids of
    tables that the target has no more. key: the place in the log up to which these tables come, itself included;
    None: it is no change of the log. records: for the repository. done: how many of the statements have acted for sure.
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
        """Return the position in the log that each table has when the entry is done, by id."""
        if self.key is None:
            return {}
        return dict.fromkeys((*self.states, *self.gone), self.key.next)

    def halted(self, why: str) -> LedgerEntry:
        """Return the entry as it ends where the target refuses its other statements: its tables wait for a refresh."""
        live = {i: one for i, one in self.states.items() if one.state is TableStatus.LIVE}
        waiting = {i: replace(one, state=TableStatus.PENDING, snapshot=None) for i, one in live.items()}
        at = Position(self.key.lsn if self.key else 0)
        requests = [RefreshRequested(i, f"done in part: {why}", at) for i in waiting]
        others = [record for record in self.records if not isinstance(record, StepApplied)]
        return replace(self, states={**self.states, **waiting}, records=(*others, *requests))

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
        """Return the entry of a JSON object that `to_json` has returned."""
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
    """A ledger stores a target's entry from before its first statement to after its last, and runs the statements."""

    def begun(self) -> LedgerEntry | None:
        """Return the entry that is begun and not done; None when there is none."""
        ...

    def begin(self, entry: LedgerEntry, fence: Fence) -> None:
        """Store an entry as begun, durably, in place of the one before. Raises Fenced LCK-102."""
        ...

    def look(self, tables: Sequence[TableName]) -> str:
        """Return a text that describes these tables and differs after each statement that has changed any of them."""
        ...

    def execute(self, statement: str) -> None:
        """Run a statement, outside any transaction. Raises AlterRefused where the target refuses it."""
        ...

    def finish(self, entry: LedgerEntry, fence: Fence) -> None:
        """Write an entry's states, positions and records, and forget it: all or nothing. Raises Fenced LCK-102."""
        ...

    def cancel(self, fence: Fence) -> None:
        """Forget the entry that is begun, of which nothing was done. Raises Fenced LCK-102."""
        ...


def run_entry(ledger: Ledger, entry: LedgerEntry, fence: Fence) -> str:
    """Run the remaining statements of an entry; return why its tables have to be loaded again, "" when all were taken.

    Raises AlterRefused where the target refuses its first statement: then nothing is done. Raises Fenced LCK-102.
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
    """Finish the entry that a killed run has begun, if there is one. Raises Fenced LCK-102."""
    entry = ledger.begun()
    if entry is None:
        return
    if ledger.look(entry.tables) != entry.look:
        entry = replace(entry, done=entry.done + 1)
    try:
        run_entry(ledger, entry, fence)
    except AlterRefused:  # of its first statement: the run that comes to it says so
        return
