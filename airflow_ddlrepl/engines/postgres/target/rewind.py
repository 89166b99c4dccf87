"""This module implements the port `engines.abilities.rewinds` for PostgreSQL; each step is one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.abilities.rewinds import Names, RewindArea
from airflow_ddlrepl.engines.postgres.connection.driver import Connection, Cursor
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.target import rewind_area, state
from airflow_ddlrepl.engines.postgres.target.rewind_area import Obstacles
from airflow_ddlrepl.engines.target_state import Fence, TargetState
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget


@dataclass
class PostgresRewindArea(RewindArea):
    """This rewind area is the part of a PostgreSQL database in which a rewind builds its tables.

    target: the replay's target, in that database.
    """

    target: PostgresTarget

    def obstacles(self, names: Names, ours: Collection[TableName]) -> Obstacles:
        return rewind_area.in_the_way(self.target.connection, self.target.holder, names, ours)

    def begin(
        self, low: Position, found: TargetState, pending: Mapping[int, TableState], names: Names, fence: Fence
    ) -> None:
        holder = self.target.holder

        def empty() -> None:
            with self._locked(connection, found.epoch, fence.token) as cursor:
                rewind_area.clear(cursor, holder, found.table_states.values())
                rewind_area.reserve(cursor, holder, *names)
                state.write_table_states(cursor, holder, pending, found.table_states.keys() - pending.keys())
                state.restart(cursor, holder, low, fence.epoch, fence.token)

        with self.target.writing(fence.token) as connection:
            patiently(empty, connection, self.target.location)

    def reserve(self, names: Names, fence: Fence) -> None:
        with self._locked(self.target.connection, fence.epoch, fence.token) as cursor:
            rewind_area.reserve(cursor, self.target.holder, *names)

    def finish(self, made_as: str, at: Position, gone: Mapping[int, TableState], fence: Fence) -> None:
        holder = self.target.holder

        def close() -> None:
            with self._locked(self.target.connection, fence.epoch, fence.token) as cursor:
                rewind_area.drop_tables(cursor, [one.name for one in gone.values() if one.state is not TableStatus.NEW])
                state.write_table_states(cursor, holder, {}, gone)
                rewind_area.finish(cursor, holder, made_as, at)

        patiently(close, self.target.connection, self.target.location)

    def finished(self, made_as: str) -> Position | None:
        return rewind_area.finished(self.target.connection, self.target.holder, made_as)

    def free(self, fence: Fence) -> None:
        with self._locked(self.target.connection, fence.epoch, fence.token) as cursor:
            rewind_area.free(cursor, self.target.holder)

    @contextmanager
    def _locked(self, connection: Connection[Any], epoch: int, token: int) -> Iterator[Cursor[Any]]:
        """Open a transaction during which no other run can write here. Raises Fenced LCK-102."""
        with connection.transaction(), connection.cursor() as cursor:
            state.hold(cursor, self.target.holder, epoch=epoch, token=token)
            yield cursor
