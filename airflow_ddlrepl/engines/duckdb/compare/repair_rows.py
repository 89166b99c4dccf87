"""This module writes chosen rows of a table in a DuckDB file as the source has them, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.engines.duckdb.connection.database import passing, transaction
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.target.state import hold
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.source_rows import (
    KEYS,
    SOURCE,
    Pairs,
    SourceRows,
    keep_keys,
    key_names,
    key_text,
    pairs_of,
)
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.failpoint import reach

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_WRITTEN = "ddlrepl_written"


def repair_rows(
    connection: Connection, holder: str, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]
) -> str:
    """Write the rows with the task's keys as the source has them, as `RepairsRows.repair_rows` documents."""
    import duckdb

    pairs = pairs_of(task.compared)
    try:
        keep_keys(connection, task.keys)
        rows = SourceRows(connection, task.compared, pairs, physical, fails=True)
        rows.copy([f"{rows.key()} IN (FROM {KEYS})"])
        keep_keys(connection, set(task.keys) - set(in_flight()))
        with transaction(connection):
            hold(connection, holder, fence)
            done = _Writing(connection, task, pairs).write()
            reach("repair.transaction")
    except duckdb.Error as error:
        if (known := passing(error)) is not None:
            raise known.about(table=task.state.name) from None
        raise _refused(task, " ".join(str(error).split())) from None
    return done


def _refused(task: RepairTask, why: str) -> TargetError:
    return TargetError(
        f"rows that differ can't be written one by one: {why}",
        code="TGT-182",
        table=task.state.name,
        hint="`ddlrepl refresh --table` with this table (of the source) loads it whole",
    )


class _Writing:
    """A writing replaces the rows of the kept keys. What only the target has of a row stays, by its key."""

    def __init__(self, connection: Connection, task: RepairTask, pairs: Pairs) -> None:
        self.connection, self.table = connection, qualified(task.state.name)
        self.written = [quote(ours.name) for _, ours in pairs]
        self.key = [quote(name) for name in key_names(task.compared)]
        there = [quote(name) for name in columns_there(connection, task.state.name)]
        if lacking := [name for name in self.written if name not in there]:
            raise _refused(task, f"the target's table has no column {lacking[0]}")
        self.own = [name for name in there if name not in self.written]

    def write(self) -> str:
        """Write the rows; return what was done, as text."""
        own = "".join(f", o.{name}" for name in self.own)
        once = f"SELECT DISTINCT ON ({', '.join(self.key)}) * FROM {self.table}"
        same = " AND ".join(f"s.{name} = o.{name}" for name in self.key)
        self._execute(
            f"CREATE OR REPLACE TEMP TABLE {_WRITTEN} AS SELECT s.*{own}, o.{self.key[0]} IS NOT NULL AS ddlrepl_there"
            f" FROM {SOURCE} AS s LEFT JOIN ({once}) AS o ON {same} WHERE {self._chosen('s')}"
        )
        gone = self._execute(f"DELETE FROM {self.table} AS t WHERE {self._chosen('t')}")
        updated = self._insert([*self.written, *self.own], "ddlrepl_there")
        inserted = self._insert(self.written, "NOT ddlrepl_there")
        return f"{inserted} rows inserted, {updated} updated, {gone - updated} deleted"

    def _chosen(self, alias: str) -> str:
        return f"{key_text(f'{alias}.{name}' for name in self.key)} IN (FROM {KEYS})"

    def _insert(self, columns: Sequence[str], which: str) -> int:
        names = ", ".join(columns)
        return self._execute(f"INSERT INTO {self.table} ({names}) SELECT {names} FROM {_WRITTEN} WHERE {which}")

    def _execute(self, statement: str) -> int:
        return int(self.connection.execute(statement).fetchall()[0][0])
