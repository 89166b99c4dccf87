"""A folder as a target: the port `engines.target.Target`, with a ledger and a position for each table."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.engines.abilities.of_target import CutsOver, HasOwnColumns, LoadsBeside
from airflow_ddlrepl.engines.ledger import Ledger, LedgerEntry, finish_begun, run_entry
from airflow_ddlrepl.engines.piecewise import Arrival, PiecewiseTarget, apply_in_pieces
from airflow_ddlrepl.engines.target import Loader, Target
from airflow_ddlrepl.engines.target_state import (
    Applied,
    Capabilities,
    CutOver,
    Fence,
    Placing,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetState,
)
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import Record, RefreshDone, from_json, to_json
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.condition.expression import Part
from tests.conformance.file_engine.ddl import Executor, FileDdl, drop, place
from tests.conformance.file_engine.facts import FileFacts
from tests.conformance.file_engine.files import Files, State, replace_file
from tests.conformance.file_engine.rows import merge


class FileLedger(Ledger):
    """The entry is a part of the channel's state."""

    def __init__(self, files: Files) -> None:
        self.files, self._executor = files, Executor(files)

    def begun(self) -> LedgerEntry | None:
        state = self.files.state()
        return LedgerEntry.from_json(state.data["entry"]) if state and state.data["entry"] else None

    def begin(self, entry: LedgerEntry, fence: Fence) -> None:
        with self.files.writing(fence) as state:
            state.data["entry"] = entry.to_json()

    def look(self, tables: Sequence[TableName]) -> str:
        return "\n".join(self.files.look(name) for name in tables)

    def execute(self, statement: str) -> None:
        self._executor.execute(statement)

    def finish(self, entry: LedgerEntry, fence: Fence) -> None:
        with self.files.writing(fence) as state:
            state.put(dict(entry.states), list(entry.gone))
            state.place(entry.table_positions)
            state.leave([to_json(record) for record in entry.records])
            state.data["entry"] = None

    def cancel(self, fence: Fence) -> None:
        with self.files.writing(fence) as state:
            state.data["entry"] = None


@dataclass
class FileTarget(Target, PiecewiseTarget, HasOwnColumns, LoadsBeside, CutsOver):
    """location: `files:///folder`."""

    location: str = field(repr=False)
    holder: str
    capabilities = Capabilities(transactional_ddl=False, position_scope="table")

    @cached_property
    def files(self) -> Files:
        return Files(folder(self.location), self.holder)

    @property
    def ledger(self) -> FileLedger:
        return FileLedger(self.files)

    def facts(self) -> FileFacts:
        return FileFacts(self.files)

    def renderer(self) -> FileDdl:
        return FileDdl()

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Conditions are evaluated here as they were checked at the source."""

    def find_state(self, holder: str = "") -> TargetState | None:
        state = Files(self.files.root, holder or self.holder).state()
        if state is None:
            return None
        states, stored = state.table_states(), state.data
        positions = self._positions(state, states)
        return TargetState(Position(stored["lsn"]), stored["epoch"], stored["token"], states, positions)

    def _positions(self, state: State, states: Mapping[int, TableState]) -> dict[int, LogKey]:
        """What is further than the target as a whole: by the rows of a table, or by the last change of its shape."""
        found = {int(i): LogKey(*key) for i, key in state.data["positions"].items()}
        suspended = {i for i, one in states.items() if one.state is TableStatus.SUSPENDED}
        for table_id, one in states.items():
            table = self.files.read(one.name) if one.state is TableStatus.LIVE or table_id in suspended else None
            if table is not None and table.position is not None and table.epoch == state.data["epoch"]:
                found[table_id] = max(table.position, found.get(table_id, table.position))
        return {i: key for i, key in found.items() if key.lsn >= state.data["lsn"] or i in suspended}

    def claim(self, fence: Fence) -> None:
        self.state()
        with self.files.writing(fence):
            pass
        finish_begun(self.ledger, fence)

    def cut_over(self) -> CutOver | None:
        state = self.files.state()
        found = state.data.get("cut_over") if state else None
        return CutOver(Position(found[0]), datetime.fromisoformat(found[1])) if found else None

    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        with self.files.writing(fence) as state:
            state.data["cut_over"] = [int(mark.position), mark.since.isoformat()] if mark else None

    def change_state(self, change: StateChange, fence: Fence) -> None:
        """What a run that was killed in it had begun is done by `claim`, which the next run begins with."""
        move = change.move
        if move is not None and move.since is None:
            with self.files.locked():
                state = self.files.state() or State.new(move.to, fence)
                if move.restarts:
                    _restart(state, move.to, fence)
                self.files.put_state(state)
        if change.statements or change.states or change.gone or change.records:
            tables = tuple(state.name for state in change.states.values())
            entry = LedgerEntry(
                tuple(change.statements), tables, change.states, tuple(change.gone), None, tuple(change.records)
            )
            run_entry(self.ledger, entry, Fence(move.since.epoch, fence.token) if move and move.since else fence)
        if move is not None and move.since is not None:
            with self.files.writing(Fence(move.since.epoch, fence.token)) as state:
                if move.restarts:
                    _restart(state, move.to, fence)
                state.data["lsn"] = move.to

    def sweep(self, token: int) -> None:
        for shadow in (self.files.root / "shadows").iterdir():
            if int(shadow.name.partition("_")[0]) < token:
                shutil.rmtree(shadow)

    def apply(
        self, program: Program, staged: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        return apply_in_pieces(self, program, staged, records, fence)

    def merge(self, due: Sequence[StagedSlice], fence: Fence) -> Mapping[str, int]:
        """One table's slices."""
        name, epoch, done = due[0].piece.name, fence.epoch, 0
        with self.files.writing(fence):
            table = self.files.read(name)
            assert table is not None, f"{name} is not there"
            for one in due:
                for number in sorted(one.sections):
                    table.rows = merge(table.rows, one.sections[number], table.shape)
                    done += sum(part.read for part in one.sections[number])
            refused = self.files.rules().get(due[0].piece.table_id)
            if refused is not None and any(refused in row.values() for row in table.rows):
                raise RowsRefused(
                    f"the target refuses rows: {name} takes no {refused}",
                    code="INT-105",
                    table=name,
                    hint="take the table's rule away, and run again",
                )
            table.epoch, table.position = epoch, due[-1].piece.high
            self.files.write(name, table)
        return {"changes": done}

    def move_position(self, arrival: Arrival, fence: Fence) -> None:
        low, high = arrival.position
        with self.files.writing(fence) as state:
            assert state.data["lsn"] == low
            state.data["lsn"] = high
            state.put(dict(arrival.states), [])
            state.leave([to_json(record) for record in arrival.records])
            suspended = {i for i, one in state.table_states().items() if one.state is TableStatus.SUSPENDED}
            positions = state.data["positions"]
            state.data["positions"] = {i: key for i, key in positions.items() if key[0] >= high or int(i) in suspended}

    @contextmanager
    def loading(self, token: int) -> Iterator[Loader]:
        yield FileLoader(self, token)

    @contextmanager
    def loading_isolated(self, mark: int) -> Iterator[Loader]:
        yield FileLoader(self, mark)

    def outbox(self) -> list[tuple[int, Record]]:
        state = self.files.state()
        return [(number, from_json(record)) for number, record in state.data["outbox"]] if state else []

    def acknowledge(self, numbers: Iterable[int]) -> None:
        gone = set(numbers)
        with self.files.writing(None) as state:
            state.data["outbox"] = [one for one in state.data["outbox"] if one[0] not in gone]

    def forget(self) -> None:
        self.files.forget()


@dataclass
class FileLoader(Loader):
    """A shadow is a folder: its shape, and a file for each chunk of rows."""

    target: FileTarget
    token: int

    @property
    def facts(self) -> FileFacts:
        return self.target.facts()

    def shadow(self, table_id: int) -> TableName:
        return TableName("shadows", f"{self.token}_{table_id}")

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        at = self.target.files.root / "shadows" / shadow.name
        shutil.rmtree(at, ignore_errors=True)
        at.mkdir()
        replace_file(at / "shape", {"shape": shape.to_json(), "rows": [], "epoch": 0, "position": None})

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        state = placing.state
        moved = [drop(placing.previous)] if placing.previous and placing.previous != state.name else []
        entry = LedgerEntry(
            statements=(place(placing.shadow, state.name), *moved),
            tables=(state.name, *([placing.previous] if moved and placing.previous else [])),
            states={state.table_id: state},
            records=(RefreshDone(state.table_id, placing.rows),),
        )
        reach("refresh.transaction")
        run_entry(self.target.ledger, entry, fence)
        return "placed"

    def end(self) -> None:
        for shadow in (self.target.files.root / "shadows").iterdir():
            shutil.rmtree(shadow)


def folder(location: str) -> Path:
    return Path(location.removeprefix("files://"))


def _restart(state: State, at: Position, fence: Fence) -> None:
    """No record and no table's position of before counts any more."""
    state.data |= {"lsn": at, "epoch": fence.epoch, "token": fence.token, "positions": {}, "outbox": [], "entry": None}
