"""This module is a PostgreSQL database as a target: the port of `engines.target`, bound to a channel's name there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_target import (
    CutsOver,
    FindsConflicts,
    HasOwnColumns,
    LoadsBeside,
    RepairsRows,
    ReplacesSomeRows,
    ReplaysStatements,
)
from airflow_ddlrepl.engines.abilities.rewinds import Rewinds
from airflow_ddlrepl.engines.abilities.sequences import HasSequences
from airflow_ddlrepl.engines.postgres.catalog.server_facts import EmptiedServerFacts, ServerFacts
from airflow_ddlrepl.engines.postgres.connection.connect import running, session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.lock_retry import limit, patiently
from airflow_ddlrepl.engines.postgres.owners.trusted_owners import TrustedOwners
from airflow_ddlrepl.engines.postgres.sessions.replication_origin import Origin, marked, marked_session, missing_rights
from airflow_ddlrepl.engines.postgres.sessions.session_names import end_earlier, session_name
from airflow_ddlrepl.engines.postgres.target import cut_over, outbox, state
from airflow_ddlrepl.engines.postgres.target.cleanup import sweep
from airflow_ddlrepl.engines.postgres.target.discarded_rows import PostgresDiscardedRows
from airflow_ddlrepl.engines.postgres.target.release_sequences import release_tables
from airflow_ddlrepl.engines.postgres.target.rewind import PostgresRewindArea
from airflow_ddlrepl.engines.postgres.types.underlying import types_below
from airflow_ddlrepl.engines.target import Target
from airflow_ddlrepl.engines.target_state import (
    Applied,
    Capabilities,
    CutOver,
    Fence,
    Move,
    RecordAt,
    StagedSlice,
    StateChange,
    TargetPosition,
    TargetState,
)
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.expression import Part

if TYPE_CHECKING:
    from airflow_ddlrepl.adapt.program.program import Program
    from airflow_ddlrepl.engines.comparing import RepairTask
    from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
    from airflow_ddlrepl.engines.postgres.load.loader import PostgresLoader
    from airflow_ddlrepl.engines.postgres.sequences.sequences import PostgresTargetSequences
    from airflow_ddlrepl.engines.postgres.source.exported_snapshot import ExportedSnapshot

_IDS = """
SELECT c.oid::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) w(s, t) ON n.nspname = w.s AND c.relname = w.t
"""


@dataclass
class PostgresTarget(
    Target,
    HasOwnColumns,
    DiscardsRows,
    ReplacesSomeRows,
    ReplaysStatements,
    FindsConflicts,
    HasSequences,
    Rewinds,
    RepairsRows,
    LoadsBeside,
    CutsOver,
):
    """A PostgreSQL target has one channel's tables and state in one database.

    connection: for queries, in autocommit mode. holder: under which name the state is stored. lock_timeout: seconds
    that one try waits for one lock. trusted: roles that may own what the channel uses, besides the session's own.
    """

    location: str = field(repr=False)
    holder: str
    lock_timeout: float
    connection: Connection[Any]
    trusted: TrustedOwners
    capabilities = Capabilities(transactional_ddl=True, position_scope="target", takes_windows=True)

    @classmethod
    def open(
        cls, location: str, holder: str, lock_timeout: float, seconds: int | None = None, owners: tuple[str, ...] = ()
    ) -> PostgresTarget:
        """Connect to a target and return it.

        seconds: how long the server has to answer, whatever the location says. owners: as the channel file says.
        Raises what `state.opened` raises.
        """
        opened = state.state_session(location, seconds)
        return cls(location, holder, lock_timeout, opened, TrustedOwners(opened, holder, owners))

    @property
    def is_closed(self) -> bool:
        return self.connection.closed

    @property
    def sequences(self) -> PostgresTargetSequences:
        from airflow_ddlrepl.engines.postgres.sequences.sequences import PostgresTargetSequences

        trusted = self.trusted.names
        return PostgresTargetSequences(self.location, self.holder, self.lock_timeout, self.connection, trusted)

    @property
    def discarded_rows(self) -> PostgresDiscardedRows:
        return PostgresDiscardedRows(self.connection, self.holder)

    @property
    def rewind_area(self) -> PostgresRewindArea:
        return PostgresRewindArea(self)

    def dangers(self) -> list[Problem]:
        return self.trusted.dangers()

    def missing_rights(self) -> list[Problem]:
        return missing_rights(self.connection, self.holder)

    def database(self) -> str:
        return running(self.connection)

    def facts(self) -> ServerFacts:
        return ServerFacts(self.connection, self.trusted.names)

    def facts_when_emptied(self) -> ServerFacts:
        return EmptiedServerFacts(self.connection)

    def renderer(self) -> PostgresDdl:
        return _renderer(self.facts().version)

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        from airflow_ddlrepl.engines.postgres.connection.conditions import require_readable

        require_readable(self.connection, condition, table, types_below(columns, table.types))

    def position(self, holder: str = "") -> TargetPosition | None:
        return state.find_position(self.connection, holder or self.holder)

    def find_state(self, holder: str = "") -> TargetState | None:
        return state.find_state(self.connection, holder or self.holder)

    def state(self) -> TargetState:
        return state.read_state(self.connection, self.holder)

    def has_loaded(self) -> bool:
        return state.has_loaded(self.connection, self.holder)

    def is_waiting(self) -> bool:
        return state.is_waiting(self.connection, self.holder)

    def prepare(self, token: int) -> None:
        with session(self.location) as connection:
            end_earlier(connection, self.holder, token)  # they may hold the position
            state.create(connection)

    def take_over(self, at: Position, fence: Fence) -> None:
        with session(self.location) as connection:
            state.create(connection)
            state.restart(connection, self.holder, at, fence.epoch, fence.token)

    def claim(self, fence: Fence) -> None:
        limit(self.connection, self.lock_timeout)
        claim = partial(
            state.claim, self.connection, self.holder, epoch=fence.epoch, token=fence.token, mark=fence.mark
        )
        patiently(claim, self.connection, self.location)
        self.trusted.look_again()

    def cut_over(self) -> CutOver | None:
        return cut_over.find(self.connection, self.holder)

    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        with session(self.location) as connection, connection.transaction(), connection.cursor() as cursor:
            if mark is not None:  # a mark is also removed for a repository that the target does not know
                state.hold(cursor, self.holder, epoch=fence.epoch, token=fence.token)
            cut_over.store(cursor, self.holder, mark)

    def change_state(self, change: StateChange, fence: Fence) -> None:
        marking = partial(marked, channel=self.holder) if change.statements else nullcontext
        with session(self.location) as opened, marking(opened), opened.transaction(), opened.cursor() as cursor:
            _change(cursor, self.holder, change, fence)

    def sweep(self, token: int) -> None:
        for stem in (_staging_stem(self.holder), _shadow_stem(self.holder)):
            sweep(self.connection, stem, token)

    def staging_name(self, token: int, name: str) -> str:
        return f"{_staging_stem(self.holder)}{token}_{name}"

    def apply(
        self, program: Program, slices: Sequence[StagedSlice], records: Sequence[RecordAt], fence: Fence
    ) -> Applied:
        from airflow_ddlrepl.engines.postgres.target.apply import Place, run_program

        place = Place(self.location, self.holder, self.lock_timeout, self.trusted.names)
        return run_program(place, program, slices, [one.record for one in records], fence)

    @contextmanager
    def loading(self, token: int) -> Iterator[PostgresLoader]:
        from airflow_ddlrepl.engines.postgres.load.loader import PostgresLoader

        with self._marked(session_name("refresh", self.holder, token)) as origin:
            stem = f"{_shadow_stem(self.holder)}{token}_"
            yield PostgresLoader(self.location, self.holder, origin, stem, self.trusted.names)

    def repair_rows(self, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
        from airflow_ddlrepl.engines.postgres.compare.repair_rows import repair_rows

        with self.loading(fence.token) as loader:
            return repair_rows(loader, task, fence, in_flight)

    @contextmanager
    def loading_isolated(self, mark: int) -> Iterator[PostgresLoader]:
        from airflow_ddlrepl.engines.postgres.load.loader import PostgresLoader

        stem = _shadow_stem(self.holder).replace("r_", "i_", 1)
        with self._marked(f"ddlrepl refresh {self.holder[:30]} isolated") as origin:
            sweep(origin.connection, stem, mark)
            yield PostgresLoader(self.location, self.holder, origin, f"{stem}{mark}_", self.trusted.names)

    @contextmanager
    def writing(self, token: int) -> Iterator[Connection[Any]]:
        """Open a session that changes tables.

        No statement waits long for a lock, and `claim` of a later run ends it.
        """
        with self._marked(session_name("refresh", self.holder, token)) as origin:
            yield origin.connection

    def _marked(self, name: str) -> AbstractContextManager[Origin]:
        return marked_session(self.location, self.holder, self.lock_timeout, name)

    @contextmanager
    def snapshot(self, names: Sequence[TableName], token: int) -> Iterator[ExportedSnapshot]:
        from airflow_ddlrepl.engines.postgres.load.held_tables import OwnTables
        from airflow_ddlrepl.engines.postgres.source.exported_snapshot import source_snapshot

        rows = self.connection.execute(_IDS, [[name.schema for name in names], [name.name for name in names]])
        ids, named = [row[0] for row in rows], session_name("refresh", self.holder, token)
        with source_snapshot(self.location, ids, name=named, hold=OwnTables) as found:
            for error in found.refused.values():
                raise error
            yield found

    def outbox(self) -> list[tuple[int, Record]]:
        return outbox.outbox_records(self.connection, self.holder)

    def acknowledge(self, numbers: Iterable[int]) -> None:
        outbox.remove(self.connection, list(numbers))

    def forget(self) -> None:
        state.forget(self.connection, self.holder)

    def close(self) -> None:
        self.connection.close()


def _change(cursor: Any, holder: str, change: StateChange, fence: Fence) -> None:
    """Do what a state change says, in the open transaction."""
    _move(cursor, holder, change.move, fence)
    if change.statements:
        release_tables(cursor, holder, {*change.states, *change.gone})
    for statement in change.statements:
        cursor.execute(statement.encode())
    state.write_table_states(cursor, holder, change.states, change.gone)
    outbox.write_records(cursor, holder, change.records)


def _move(cursor: Any, holder: str, move: Move | None, fence: Fence) -> None:
    """Move the position in the open transaction, as a move says; its row stays locked to the end."""
    if move is None:
        state.hold(cursor, holder, epoch=fence.epoch, token=fence.token)
    elif move.since is None:
        state.begin(cursor, holder, move.to, fence.epoch, fence.token)
    else:
        state.hold(cursor, holder, epoch=move.since.epoch, token=fence.token)
        if move.restarts:
            state.restart(cursor, holder, move.to, fence.epoch, fence.token)
        elif move.since.lsn != move.to:
            state.advance(cursor, holder, move.since.lsn, move.to, epoch=fence.epoch, token=fence.token)


def _staging_stem(holder: str) -> str:
    """Return how the names of a channel's staging tables begin."""
    return f"s_{hashlib.sha256(holder.encode()).hexdigest()[:8]}_"


def _shadow_stem(holder: str) -> str:
    """Return how the names of a channel's shadow tables begin."""
    return f"r_{hashlib.sha256(holder.encode()).hexdigest()[:12]}_"


def _renderer(version: int) -> PostgresDdl:
    """Return what writes SQL of schema changes; a status imports nothing of it."""
    from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl

    return PostgresDdl(version)
