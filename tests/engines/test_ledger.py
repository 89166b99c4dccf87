"""The ledger does each statement once, and says what became of an entry that the target refuses in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from airflow_ddlrepl.engines.ledger import Ledger, LedgerEntry, finish_begun, run_entry
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import AlterRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import RefreshRequested, StepApplied
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus

FENCE = Fence(1, 1)
NAME = TableName("public", "orders")
LIVE = TableState(7, NAME, Table(7, NAME, ()))
ENTRY = LedgerEntry(("one", "two", "three"), (NAME,), {7: LIVE}, key=LogKey(40, 2))


@dataclass
class Memory(Ledger):
    """refuses: the statement that the target does not take. acted: those that it has run."""

    refuses: str = ""
    acted: list[str] = field(default_factory=list)
    entry: LedgerEntry | None = None
    finished: LedgerEntry | None = None

    def begun(self) -> LedgerEntry | None:
        return self.entry

    def begin(self, entry: LedgerEntry, fence: Fence) -> None:
        self.entry = LedgerEntry.from_json(entry.to_json())

    def look(self, tables: Sequence[TableName]) -> str:
        return " ".join(self.acted)

    def execute(self, statement: str) -> None:
        if statement == self.refuses:
            raise AlterRefused(f"{statement} is refused", code="ADP-130")
        self.acted.append(statement)

    def finish(self, entry: LedgerEntry, fence: Fence) -> None:
        self.finished, self.entry = entry, None

    def cancel(self, fence: Fence) -> None:
        self.entry = None


def test_an_entry_is_done_and_its_tables_have_come_past_its_place() -> None:
    ledger = Memory()
    assert run_entry(ledger, ENTRY, FENCE) == ""
    assert ledger.acted == ["one", "two", "three"] and ledger.entry is None
    assert ledger.finished is not None and ledger.finished.states == {7: LIVE}
    assert ledger.finished.table_positions == {7: LogKey(40, 3)}


def test_a_refused_first_statement_leaves_nothing_behind() -> None:
    ledger = Memory(refuses="one")
    with pytest.raises(AlterRefused):
        run_entry(ledger, ENTRY, FENCE)
    assert (ledger.acted, ledger.entry, ledger.finished) == ([], None, None)


def test_what_is_refused_in_the_middle_waits_for_a_refresh() -> None:
    """And no record says that its step was made."""
    ledger = Memory(refuses="two")
    entry = replace(ENTRY, records=(StepApplied(7, 1, 0, "", "all three"),))
    assert run_entry(ledger, entry, FENCE) == "two is refused"
    assert ledger.acted == ["one"] and ledger.entry is None and ledger.finished is not None
    assert ledger.finished.states[7].state is TableStatus.PENDING
    assert ledger.finished.records == (RefreshRequested(7, "done in part: two is refused", Position(40)),)


@pytest.mark.parametrize("killed_after", [0, 1, 2])
@pytest.mark.parametrize("has_acted", [False, True])
def test_a_begun_entry_goes_on_where_it_was_killed(killed_after: int, *, has_acted: bool) -> None:
    """Whether the statement at which it died has acted shows in the look of the tables."""
    ledger = Memory(acted=list(ENTRY.statements[:killed_after]))
    ledger.begin(LedgerEntry.from_json({**ENTRY.to_json(), "done": killed_after, "look": ledger.look(())}), FENCE)
    if has_acted:
        ledger.execute(ENTRY.statements[killed_after])
    finish_begun(ledger, FENCE)
    assert ledger.acted == ["one", "two", "three"] and ledger.entry is None and ledger.finished is not None
    finish_begun(ledger, FENCE)
    assert ledger.acted == ["one", "two", "three"]


def test_a_begun_entry_that_is_refused_at_its_beginning_is_forgotten() -> None:
    ledger = Memory(refuses="one")
    ledger.begin(LedgerEntry.from_json({**ENTRY.to_json(), "look": ledger.look(())}), FENCE)
    finish_begun(ledger, FENCE)
    assert (ledger.acted, ledger.entry, ledger.finished) == ([], None, None)
