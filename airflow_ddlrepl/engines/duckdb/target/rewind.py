"""This module is the part of a DuckDB file in which a rewind builds its tables; each step is one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.abilities.rewinds import Names, RewindArea
from airflow_ddlrepl.engines.duckdb.ddl.partition_views import views_renewed
from airflow_ddlrepl.engines.duckdb.target import state
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified
from airflow_ddlrepl.engines.target_state import Fence, TargetState
from airflow_ddlrepl.engines.transactional.rewind_obstacles import NamedObstacles, tables_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget

_NAMED = """
SELECT 'table', schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database()
UNION ALL
SELECT 'view', schema_name, view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
ORDER BY ALL
"""

_NONE = NamedObstacles(qualified, "", "a file")


@dataclass
class DuckRewindArea(RewindArea):
    """This rewind area knows its tables by their states and by the names that it has reserved. A file has no types."""

    target: DuckTarget

    def obstacles(self, names: Names, ours: Collection[TableName]) -> NamedObstacles:
        if not self.target.is_there:
            return _NONE
        with self.target.session(is_reader=True) as connection:
            return _obstacles(connection, names[0], {*ours, *_reserved(connection, self.target.holder)})

    def begin(
        self, low: Position, found: TargetState, pending: Mapping[int, TableState], names: Names, fence: Fence
    ) -> None:
        holder = self.target.holder
        with self.target.writing() as connection:
            state.hold(connection, holder, Fence(found.epoch, fence.token))
            with views_renewed(connection, holder):
                _drop(connection, [*tables_of(found.table_states.values()), *_reserved(connection, holder)])
                for table in ("replayed_names", "replayed"):
                    connection.execute(f"DELETE FROM ddlrepl.{table} WHERE channel = ?", [holder])
                _reserve(connection, holder, names[0])
                gone = found.table_states.keys() - pending.keys()
                state.write_table_states(connection, holder, pending, gone)
            state.restart(connection, holder, low, fence)

    def reserve(self, names: Names, fence: Fence) -> None:
        with self.target.writing() as connection:
            state.hold(connection, self.target.holder, fence)
            _reserve(connection, self.target.holder, names[0])

    def finish(self, made_as: str, at: Position, gone: Mapping[int, TableState], fence: Fence) -> None:
        holder = self.target.holder
        with self.target.writing() as connection:
            state.hold(connection, holder, fence)
            with views_renewed(connection, holder):
                _drop(connection, tables_of(gone.values()))
                state.write_table_states(connection, holder, {}, gone)
            connection.execute("DELETE FROM ddlrepl.replayed WHERE channel = ?", [holder])
            connection.execute("INSERT INTO ddlrepl.replayed VALUES (?, ?, ?)", [holder, made_as, int(at)])
            _free(connection, holder)

    def finished(self, made_as: str) -> Position | None:
        if not self.target.is_there:
            return None
        with self.target.session(is_reader=True) as connection:
            if not state.is_there(connection, "replayed"):
                return None
            query = "SELECT lsn FROM ddlrepl.replayed WHERE channel = ? AND made_as = ?"
            found = connection.execute(query, [self.target.holder, made_as]).fetchall()
        return Position(found[0][0]) if found else None

    def free(self, fence: Fence) -> None:
        with self.target.writing() as connection:
            state.hold(connection, self.target.holder, fence)
            _free(connection, self.target.holder)


def _drop(connection: Connection, names: Iterable[TableName]) -> None:
    there = {_plain(name): (kind, name) for kind, name in _objects(connection)}
    for plain in sorted({_plain(name) for name in names} & there.keys()):
        kind, name = there[plain]
        connection.execute(f"DROP {kind.upper()} {qualified(name)}")


def _reserve(connection: Connection, holder: str, names: Iterable[TableName]) -> None:
    """Reserve names: tables that are made under them are the rewind's. Raises CannotRewind REW-105."""
    wanted = sorted(set(names) - set(_reserved(connection, holder)))
    if (obstacles := _obstacles(connection, wanted, ())).found:
        raise obstacles.error()
    if wanted:
        rows = [[holder, *name] for name in wanted]
        connection.executemany("INSERT INTO ddlrepl.replayed_names VALUES (?, ?, ?)", rows)


def _obstacles(connection: Connection, names: Iterable[TableName], ours: Iterable[TableName]) -> NamedObstacles:
    wanted = {_plain(name) for name in names} - {_plain(name) for name in ours}
    return replace(_NONE, found=tuple((kind, name) for kind, name in _objects(connection) if _plain(name) in wanted))


def _reserved(connection: Connection, holder: str) -> list[TableName]:
    if not state.is_there(connection, "replayed_names"):
        return []
    query = "SELECT schema_name, table_name FROM ddlrepl.replayed_names WHERE channel = ?"
    return [TableName(*row) for row in connection.execute(query, [holder]).fetchall()]


def _free(connection: Connection, holder: str) -> None:
    """Give up the names that were reserved and not used."""
    used = {_plain(name) for _, name in _objects(connection)}
    for name in _reserved(connection, holder):
        if _plain(name) not in used:
            query = "DELETE FROM ddlrepl.replayed_names WHERE channel = ? AND schema_name = ? AND table_name = ?"
            connection.execute(query, [holder, *name])


def _objects(connection: Connection) -> list[tuple[str, TableName]]:
    return [(kind, TableName(*name)) for kind, *name in connection.execute(_NAMED).fetchall()]


def _plain(name: TableName) -> tuple[str, str]:
    """Return the name as DuckDB compares it."""
    return name.schema.lower(), name.name.lower()
