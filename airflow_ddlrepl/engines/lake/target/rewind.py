"""This module is the part of a lake in which a rewind builds its tables; each step is one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection, and_, delete, insert, select

from airflow_ddlrepl.engines.abilities.rewinds import Names, RewindArea
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.catalog.port import Pointers
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.quoting import qualified
from airflow_ddlrepl.engines.lake.target import state
from airflow_ddlrepl.engines.lake.target.tables import is_there, replayed, replayed_names
from airflow_ddlrepl.engines.target_state import Fence, TargetState
from airflow_ddlrepl.engines.transactional.rewind_obstacles import NamedObstacles, tables_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget

_NONE = NamedObstacles(qualified, ", in Spark", "a catalog")


@dataclass
class LakeRewindArea(RewindArea):
    """This rewind area knows its tables by their states and by the names that it has reserved. A lake has no types.

    What it removes is gone from the catalog; the files stay, as those of other tables that are dropped.
    """

    target: LakeTarget

    def obstacles(self, names: Names, ours: Collection[TableName]) -> NamedObstacles:
        if not self.target.is_there:
            return _NONE
        with self.target.reading() as connection:
            return self._obstacles(connection, names[0], {*ours, *self._reserved(connection)})

    def begin(
        self, low: Position, found: TargetState, pending: Mapping[int, TableState], names: Names, fence: Fence
    ) -> None:
        holder = self.target.holder
        with self.target.writing() as connection:
            state.hold(connection, holder, Fence(found.epoch, fence.token))
            with self.target.views_renewed(connection):
                self._drop(connection, [*tables_of(found.table_states.values()), *self._reserved(connection)])
                for table in (replayed, replayed_names):
                    connection.execute(delete(table).where(table.c.channel == holder))
                self._reserve(connection, names[0])
                gone = found.table_states.keys() - pending.keys()
                state.write_table_states(connection, holder, pending, gone)
            state.restart(connection, holder, low, fence)

    def reserve(self, names: Names, fence: Fence) -> None:
        with self.target.writing() as connection:
            state.hold(connection, self.target.holder, fence)
            self._reserve(connection, names[0])

    def finish(self, made_as: str, at: Position, gone: Mapping[int, TableState], fence: Fence) -> None:
        holder = self.target.holder
        with self.target.writing() as connection:
            state.hold(connection, holder, fence)
            with self.target.views_renewed(connection):
                self._drop(connection, tables_of(gone.values()))
                state.write_table_states(connection, holder, {}, gone)
            connection.execute(delete(replayed).where(replayed.c.channel == holder))
            connection.execute(insert(replayed), [{"channel": holder, "made_as": made_as, "lsn": int(at)}])
            self._free(connection)

    def finished(self, made_as: str) -> Position | None:
        if not self.target.is_there:
            return None
        with self.target.reading() as connection:
            if not is_there(connection, replayed):
                return None
            same = and_(replayed.c.channel == self.target.holder, replayed.c.made_as == made_as)
            found = connection.execute(select(replayed.c.lsn).where(same)).scalar()
        return None if found is None else Position(found)

    def free(self, fence: Fence) -> None:
        with self.target.writing() as connection:
            state.hold(connection, self.target.holder, fence)
            self._free(connection)

    @property
    def _pointers(self) -> Pointers:
        return pointers(location_of(self.target.location))

    def _drop(self, connection: Connection, names: Iterable[TableName]) -> None:
        for name in sorted(set(names)):
            self._pointers.remove(connection, name)

    def _reserve(self, connection: Connection, names: Iterable[TableName]) -> None:
        """Reserve names: tables that are made under them are the rewind's. Raises CannotRewind REW-105."""
        wanted = sorted(set(names) - set(self._reserved(connection)))
        if (obstacles := self._obstacles(connection, wanted, ())).found:
            raise obstacles.error()
        rows = [{"channel": self.target.holder, "schema_name": one.schema, "table_name": one.name} for one in wanted]
        if rows:
            connection.execute(insert(replayed_names), rows)

    def _obstacles(
        self, connection: Connection, names: Iterable[TableName], ours: Iterable[TableName]
    ) -> NamedObstacles:
        kinds, wanted = self._pointers.kinds(connection), set(names) - set(ours)
        return replace(_NONE, found=tuple((kinds[name], name) for name in sorted(wanted & kinds.keys())))

    def _reserved(self, connection: Connection) -> list[TableName]:
        if not is_there(connection, replayed_names):
            return []
        query = select(replayed_names.c.schema_name, replayed_names.c.table_name)
        found = connection.execute(query.where(replayed_names.c.channel == self.target.holder))
        return [TableName(*row) for row in found]

    def _free(self, connection: Connection) -> None:
        """Give up the names that were reserved and not used."""
        used = self._pointers.kinds(connection)
        for name in set(self._reserved(connection)) - used.keys():
            same = (replayed_names.c.schema_name == name.schema, replayed_names.c.table_name == name.name)
            connection.execute(delete(replayed_names).where(replayed_names.c.channel == self.target.holder, *same))
