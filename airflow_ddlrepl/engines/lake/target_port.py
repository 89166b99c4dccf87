"""This module is a lake as a target: the port `engines.target.Target`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_target import AppliesTogether, CutsOver, HasOwnColumns, ReplacesSomeRows
from airflow_ddlrepl.engines.lake.catalog import entries
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.catalog.written import remove_files, windows
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading, writing
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.ddl.render import LakeDdl
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.load.loader import LakeLoader
from airflow_ddlrepl.engines.lake.target import state
from airflow_ddlrepl.engines.lake.target.apply import stage_program, write_states
from airflow_ddlrepl.engines.lake.target.discarded_rows import LakeDiscardedRows
from airflow_ddlrepl.engines.lake.target.facts import LakeFacts
from airflow_ddlrepl.engines.lake.target.partition_views import views_renewed
from airflow_ddlrepl.engines.lake.target.repetition import repeated
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
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part


@dataclass
class LakeTarget(Target, CutsOver, ReplacesSomeRows, HasOwnColumns, DiscardsRows, AppliesTogether):
    """A lake opens its catalog's database for each call; a run's changes of tables become visible at one moment.

    holder: under which name the state is stored. seconds: how long to wait for others that write; None: as usual.
    """

    location: str = field(repr=False)
    holder: str
    seconds: float | None = None
    capabilities = Capabilities(transactional_ddl=True, position_scope="target", alters_partitions=False)

    def reading(self) -> AbstractContextManager[Connection]:
        """Open the catalog's database to read it."""
        return reading(self.location, self.seconds)

    def writing(self) -> AbstractContextManager[Connection]:
        """Open the catalog's database for one transaction that writes."""
        return writing(self.location, self.seconds)

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
        return LakeDdl()

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        from airflow_ddlrepl.engines.lake.merge.conditions import require_readable

        require_readable(condition, table, columns)

    def require_possible(self, own: OwnColumns, table: Table) -> None:
        from airflow_ddlrepl.engines.lake.types.possible_columns import require_possible

        require_possible(own, table)

    @property
    def discarded_rows(self) -> LakeDiscardedRows:
        return LakeDiscardedRows(self)

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
        window = self.window(f"c{fence.token}")
        if change.statements:
            window.begin()
        for statement in change.statements:
            run(window, statement)
        window.commit()
        with self.writing() as connection, self.views_renewed(connection):
            self._move(connection, change, fence)
            if change.statements:
                window.flip(connection)
            state.write_table_states(connection, self.holder, change.states, change.gone)
            state.write_records(connection, self.holder, change.records)

    def _move(self, connection: Connection, change: StateChange, fence: Fence) -> None:
        """Move the position as a change says, in the open transaction."""
        move = change.move
        if move is None:
            state.hold(connection, self.holder, fence)
        elif move.since is None:
            state.begin(connection, self.holder, move.to, fence)
            if move.restarts:
                state.restart(connection, self.holder, move.to, fence)
        else:
            since = Fence(move.since.epoch, fence.token)
            state.hold(connection, self.holder, since)
            if move.restarts:
                state.restart(connection, self.holder, move.to, fence)
            elif move.since.lsn != move.to:
                state.advance(connection, self.holder, move.since.lsn, move.to, since)

    def window(self, name: str) -> Window:
        """Return a window of the channel's. name: of it, unique among those that may be open."""
        return Window(self.location, f"w_{self._channel}_{name}")

    def sweep(self, token: int) -> None:
        """Remove what runs of lower tokens have staged, in files and as entries of our catalog."""
        place = location_of(self.location)
        for left in place.files.inside(place.staging_folder):
            name = left.rpartition("/")[2]
            if name.startswith(f"s_{self._channel}_") and int(name.split("_")[2]) < token:
                place.files.remove(left)
        if not self.is_there:
            return
        with self.writing() as connection:
            for name in entries.namespaces(connection, place.spark_catalog):
                if self._is_earlier(name, token):
                    entries.forget_namespace(connection, place.spark_catalog, name)
            found = windows(connection, f"w_{self._channel}_")
            remove_files(connection, [name for name in found if self._is_earlier(name, token)], place.files)

    def _is_earlier(self, window: str, token: int) -> bool:
        """Is a window, by its name or its namespace's, one of the channel's that a run of a lower token has begun?"""
        number = window.removeprefix(f"w_{self._channel}_")[1:].partition("_")[0]
        return number.isdigit() and int(number) < token

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
        window = self.window(f"a{fence.token}")
        window.begin()
        with self.writing() as connection:  # an early refusal: the transaction below asks again
            for work in works:
                state.hold(connection, work.holder, fence)
        done = [stage_program(window, work.program, work.slices) for work in works]
        with self.writing() as connection, self.views_renewed(connection):  # a table of changes has no view
            for work in works:
                state.advance(connection, work.holder, *work.program.move, fence)
            window.flip(connection)
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
