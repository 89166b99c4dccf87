"""This module is a DuckDB file as a target: the port `engines.target.Target`."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_target import (
    CutsOver,
    HasOwnColumns,
    LoadsBeside,
    RepairsRows,
    ReplacesSomeRows,
)
from airflow_ddlrepl.engines.abilities.rewinds import Rewinds
from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.engines.duckdb.catalog.facts import DuckFacts, EmptiedDuckFacts, table_there
from airflow_ddlrepl.engines.duckdb.connection.database import path_of, session, staging_folder, transaction
from airflow_ddlrepl.engines.duckdb.ddl.partition_views import views_renewed
from airflow_ddlrepl.engines.duckdb.ddl.render import DuckDdl
from airflow_ddlrepl.engines.duckdb.load.loader import DuckLoader
from airflow_ddlrepl.engines.duckdb.load.table_rows import DuckTables, row_ids
from airflow_ddlrepl.engines.duckdb.target import state
from airflow_ddlrepl.engines.duckdb.target.apply import run_program
from airflow_ddlrepl.engines.duckdb.target.discarded_rows import DuckDiscardedRows
from airflow_ddlrepl.engines.duckdb.target.rewind import DuckRewindArea
from airflow_ddlrepl.engines.target import Target
from airflow_ddlrepl.engines.target_state import (
    Applied,
    Capabilities,
    CutOver,
    Fence,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetState,
)
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass
class DuckTarget(Target, LoadsBeside, CutsOver, RepairsRows, Rewinds, ReplacesSomeRows, HasOwnColumns, DiscardsRows):
    """A DuckDB target opens its file for each call, and closes it: one process at a time has it.

    holder: under which name the state is stored. seconds: how long to wait for another process; None: as usual.
    """

    location: str = field(repr=False)
    holder: str
    seconds: float | None = None
    capabilities = Capabilities(transactional_ddl=True, position_scope="target", alters_partitions=False)

    def session(self, *, is_reader: bool = False) -> AbstractContextManager[Connection]:
        """Open the file."""
        return session(self.location, self.seconds, is_reader=is_reader)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open the file for one transaction."""
        with self.session() as connection, transaction(connection):
            yield connection

    @property
    def is_there(self) -> bool:
        """Is there a file?"""
        return path_of(self.location).exists()

    def database(self) -> str:
        return str(path_of(self.location).resolve())

    def facts(self) -> DuckFacts:
        return DuckFacts(self.session)

    def renderer(self) -> DuckDdl:
        return DuckDdl()

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        from airflow_ddlrepl.engines.duckdb.types.physical import physical
        from airflow_ddlrepl.engines.duckdb_sql.conditions import require_readable

        require_readable(condition, table, columns, physical)

    def require_possible(self, own: OwnColumns, table: Table) -> None:
        from airflow_ddlrepl.engines.duckdb.types.possible_columns import POSSIBLE_COLUMNS

        POSSIBLE_COLUMNS.require(own, table)

    @property
    def discarded_rows(self) -> DuckDiscardedRows:
        return DuckDiscardedRows(self)

    def find_state(self, holder: str = "") -> TargetState | None:
        if not self.is_there:
            return None
        with self.session(is_reader=True) as connection:
            return state.find_state(connection, holder or self.holder)

    def prepare(self, token: int) -> None:
        with self.writing() as connection:
            state.create(connection)

    def claim(self, fence: Fence) -> None:
        self.state()
        with self.writing() as connection:
            state.claim(connection, self.holder, fence)

    def cut_over(self) -> CutOver | None:
        if not self.is_there:
            return None
        with self.session(is_reader=True) as connection:
            return state.find_cut_over(connection, self.holder)

    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        with self.writing() as connection:
            if mark is not None:  # a mark is also removed for a repository that the target does not know
                state.hold(connection, self.holder, fence)
            state.store_cut_over(connection, self.holder, mark)

    def change_state(self, change: StateChange, fence: Fence) -> None:
        move = change.move
        with self.writing() as connection:
            if move is None:
                state.hold(connection, self.holder, fence)
            elif move.since is None:
                state.begin(connection, self.holder, move.to, fence)
                if move.restarts:
                    state.restart(connection, self.holder, move.to, fence)
            else:
                state.hold(connection, self.holder, Fence(move.since.epoch, fence.token))
                if move.restarts:
                    state.restart(connection, self.holder, move.to, fence)
                elif move.since.lsn != move.to:
                    since = Fence(move.since.epoch, fence.token)
                    state.advance(connection, self.holder, move.since.lsn, move.to, since)
            with views_renewed(connection, self.holder):
                for statement in change.statements:
                    connection.execute(statement)
                state.write_table_states(connection, self.holder, change.states, change.gone)
            state.write_records(connection, self.holder, change.records)

    def sweep(self, token: int) -> None:
        self._sweep("s", token)

    def _sweep(self, kind: str, number: int) -> None:
        """Remove what runs, or isolated loads, of lower numbers have left beside the file."""
        for left in staging_folder(self.location).glob(f"{kind}_{self._channel}_*"):
            if int(left.name.split("_")[2]) < number:
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    @property
    def _channel(self) -> str:
        """Return what tells the channel's files beside the database from those of others."""
        return hashlib.sha256(self.holder.encode()).hexdigest()[:8]

    def staging_name(self, token: int, name: str) -> str:
        return f"s_{self._channel}_{token}_{name}"

    def apply(
        self, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        with self.writing() as connection:
            return run_program(connection, self.holder, program, slices, [one.record for one in records], fence)

    @contextmanager
    def loading(self, token: int) -> Iterator[DuckLoader]:
        yield DuckLoader(self, f"s_{self._channel}_{token}_r")

    @contextmanager
    def loading_isolated(self, mark: int) -> Iterator[DuckLoader]:
        self._sweep("i", mark)
        yield DuckLoader(self, f"i_{self._channel}_{mark}_r")

    def repair_rows(self, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
        from airflow_ddlrepl.engines.duckdb.compare.repair_rows import repair_rows

        with self.session() as connection:
            return repair_rows(connection, self.holder, task, fence, in_flight)

    @property
    def rewind_area(self) -> DuckRewindArea:
        return DuckRewindArea(self)

    def facts_when_emptied(self) -> EmptiedDuckFacts:
        return EmptiedDuckFacts(self.session)

    @contextmanager
    def snapshot(self, names: Sequence[TableName], token: int) -> Iterator[DuckTables]:
        with self.session(is_reader=True) as connection:
            found = filter(None, (table_there(connection, name) for name in names))
            tables = {table.name: table for table in found}
            rows = {name: row_ids(connection, name) for name in tables}
        yield DuckTables(self.location, tuple(tables.values()), rows)

    def outbox(self) -> list[tuple[int, Record]]:
        if not self.is_there:
            return []
        with self.session(is_reader=True) as connection:
            return state.outbox_records(connection, self.holder) if state.is_there(connection) else []

    def acknowledge(self, numbers: Iterable[int]) -> None:
        with self.writing() as connection:
            state.remove(connection, list(numbers))

    def forget(self) -> None:
        with self.writing() as connection:
            state.forget(connection, self.holder)
