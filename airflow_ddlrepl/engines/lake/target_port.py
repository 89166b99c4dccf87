"""This module is a lake as a target: the port `engines.target.Target`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_target import (
    AppliesTogether,
    ArrangesRows,
    CutsOver,
    HasOwnColumns,
    LoadsBeside,
    RepairsRows,
    ReplacesSomeRows,
)
from airflow_ddlrepl.engines.abilities.rewinds import Rewinds
from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.engines.lake.catalog import entries
from airflow_ddlrepl.engines.lake.catalog.heads import require_followed
from airflow_ddlrepl.engines.lake.catalog.publishing import publishing
from airflow_ddlrepl.engines.lake.catalog.window import Check, Window, WindowKind, any_table
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.ddl.arrangement import ArrangementOf, no_arrangement, require_possible
from airflow_ddlrepl.engines.lake.ddl.render import LakeDdl
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.load.loader import LakeLoader
from airflow_ddlrepl.engines.lake.load.table_rows import LakeTables
from airflow_ddlrepl.engines.lake.target import state
from airflow_ddlrepl.engines.lake.target.apply import stage_program, summaries, write_states
from airflow_ddlrepl.engines.lake.target.discarded_rows import LakeDiscardedRows
from airflow_ddlrepl.engines.lake.target.facts import EmptiedLakeFacts, LakeFacts
from airflow_ddlrepl.engines.lake.target.left_behind import LeftBehind
from airflow_ddlrepl.engines.lake.target.partition_views import views_renewed
from airflow_ddlrepl.engines.lake.target.repetition import repeated
from airflow_ddlrepl.engines.lake.target.rewind import LakeRewindArea
from airflow_ddlrepl.engines.lake.target.roll_back import RollsBack
from airflow_ddlrepl.engines.lake.target.sweep import sweep_files, sweep_runs
from airflow_ddlrepl.engines.lake.target.tables import create
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
    TargetWork,
)
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part

_CAPABILITIES = Capabilities(
    transactional_ddl=True, position_scope="target", alters_partitions=False, merges_at_once=True
)


@dataclass
class LakeTarget(
    Target,
    LoadsBeside,
    CutsOver,
    RepairsRows,
    Rewinds,
    ReplacesSomeRows,
    HasOwnColumns,
    DiscardsRows,
    AppliesTogether,
    ArrangesRows,
    RollsBack,
):
    """A lake opens its catalog's database for each call; a run's changes of tables become visible at one moment.

    holder: names its state. seconds: to wait for others; None: as usual. arrangement_of: a table's rows, by its name.
    """

    location: str = field(repr=False)
    holder: str
    seconds: float | None = None
    arrangement_of: ArrangementOf = no_arrangement
    capabilities = _CAPABILITIES

    def reading(self) -> AbstractContextManager[Connection]:
        """Open the catalog's database to read it."""
        return reading(self.location, self.seconds)

    def writing(self, others: Iterable[str] = ()) -> AbstractContextManager[Connection]:
        """Open a transaction at whose end readers see a window's tables. others: states of whom it changes, too."""
        return publishing(self.location, self._channel, self.seconds, LeftBehind(self.location, {self.holder, *others}))

    def views_renewed(self, connection: Connection) -> AbstractContextManager[None]:
        """Make the views of partitioned tables again when the tables have changed, in the open transaction."""
        return views_renewed(connection, self.location, self.holder, self._channel)

    @property
    def is_there(self) -> bool:
        """Is there a catalog?"""
        return is_there(self.location)

    def database(self) -> str:
        place = location_of(self.location)
        return f"{place.file.resolve() if place.file else place.database} {place.catalog}"

    def facts(self) -> LakeFacts:
        return LakeFacts(self.location)

    def renderer(self) -> LakeDdl:
        return LakeDdl(self.arrangement_of)

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        from airflow_ddlrepl.engines.lake.merge.conditions import require_readable

        require_readable(condition, table, columns)

    def require_possible(self, own: OwnColumns, table: Table) -> None:
        from airflow_ddlrepl.engines.lake.types.possible_columns import POSSIBLE_COLUMNS

        POSSIBLE_COLUMNS.require(own, table)

    @property
    def discarded_rows(self) -> LakeDiscardedRows:
        return LakeDiscardedRows(self)

    def require_arrangement(self, table: Table) -> None:
        if self.facts().table(table.name) is None:  # one that is there stays as it is: columns may have been renamed
            require_possible(self.arrangement_of(table.name), table)

    def find_state(self, holder: str = "") -> TargetState | None:
        if not self.is_there:
            return None
        with self.reading() as connection:
            return state.find_state(connection, holder or self.holder)

    def prepare(self, token: int) -> None:
        with self.writing() as connection:
            create(connection)
            entries.create(connection)

    def claim(self, fence: Fence) -> None:
        self.state()
        with self.writing() as connection:
            state.claim(connection, self.holder, fence)

    def cut_over(self) -> CutOver | None:
        if not self.is_there:
            return None
        with self.reading() as connection:
            return state.find_cut_over(connection, self.holder)

    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        with self.writing() as connection:
            if mark is not None:  # a mark is also removed for a repository that the target does not know
                state.hold(connection, self.holder, fence)
            state.store_cut_over(connection, self.holder, mark)

    def change_state(self, change: StateChange, fence: Fence) -> None:
        repeated(lambda: self._change_state(change, fence))

    def _change_state(self, change: StateChange, fence: Fence) -> None:
        window = self.window(f"{WindowKind.CHANGE_STATE}{fence.token}")
        if change.statements:
            window.begin()
        for statement in change.statements:
            run(window, statement)
        window.commit()
        with self.writing() as connection, self.views_renewed(connection):
            state.move(connection, self.holder, change.move, fence)
            if change.statements:
                window.flip(connection)
            state.write_table_states(connection, self.holder, change.states, change.gone)
            state.write_records(connection, self.holder, change.records)

    def window(self, name: str, check: Check = any_table) -> Window:
        """Return a window of the channel's. name: of it, unique among those that may be open. check: as a window's."""
        return Window(self.location, f"w_{self._channel}_{name}", check)

    def sweep(self, token: int) -> None:
        with file_refusals():
            sweep_runs(self.location, self._channel, token)

    @property
    def _channel(self) -> str:
        """Return what tells the channel's files and entries from those of others."""
        return hashlib.sha256(self.holder.encode()).hexdigest()[:8]

    def staging_name(self, token: int, name: str) -> str:
        return f"s_{self._channel}_{token}_{name}"

    def apply(
        self, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        return self.apply_together([TargetWork(self.holder, program, slices, records)], fence)[0]

    def apply_together(self, works: Sequence[TargetWork], fence: Fence) -> list[Applied]:
        return repeated(lambda: self._apply(works, fence))

    def _apply(self, works: Sequence[TargetWork], fence: Fence) -> list[Applied]:
        window = self.window(f"{WindowKind.APPLY}{fence.token}", require_followed)
        window.begin()
        with self.writing() as connection:  # an early refusal: the transaction below asks again
            for work in works:
                state.hold(connection, work.holder, fence)
        done = [stage_program(window, work.program, work.slices) for work in works]
        with self.writing(work.holder for work in works) as connection, self.views_renewed(connection):
            for work in works:
                state.advance(connection, work.holder, *work.program.move, fence)
            window.flip(connection, summaries((work.program for work in works), window.tables, fence.epoch))
            for work, staging in zip(works, done, strict=True):
                write_states(connection, work.holder, work.program)
                for discard in staging.discards:
                    discard(connection, work.holder)
                state.write_records(connection, work.holder, [one.record for one in work.records])
            reach("integrate.transaction")
        return [staging.applied for staging in done]

    @contextmanager
    def loading(self, token: int) -> Iterator[LakeLoader]:
        yield LakeLoader(self, f"s_{self._channel}_{token}_r")

    def repair_rows(self, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
        from airflow_ddlrepl.engines.lake.compare.repair_rows import stage_repair

        window, folder = self.window(f"{WindowKind.REPAIR}{fence.token}"), self.staging_name(fence.token, "repair")
        window.begin()
        with stage_repair(window, task, in_flight, folder) as done, self.writing() as connection:
            state.hold(connection, self.holder, fence)
            window.flip(connection)
            reach("repair.transaction")
        return done

    @property
    def rewind_area(self) -> LakeRewindArea:
        return LakeRewindArea(self)

    def facts_when_emptied(self) -> EmptiedLakeFacts:
        return EmptiedLakeFacts(self.location)

    def snapshot(self, names: Sequence[TableName], token: int) -> AbstractContextManager[LakeTables]:
        return nullcontext(LakeTables.now(self.location, names))

    @contextmanager
    def loading_isolated(self, mark: int) -> Iterator[LakeLoader]:
        sweep_files(self.location, f"i_{self._channel}_", mark)
        yield LakeLoader(self, f"i_{self._channel}_{mark}_r")

    def outbox(self) -> list[tuple[int, Record]]:
        if not self.is_there:
            return []
        with self.reading() as connection:
            return state.outbox_records(connection, self.holder)

    def acknowledge(self, numbers: Iterable[int]) -> None:
        with self.writing() as connection:
            state.remove(connection, list(numbers))

    def forget(self) -> None:
        with self.writing() as connection:
            state.forget(connection, self.holder)
