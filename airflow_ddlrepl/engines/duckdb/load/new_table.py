"""This module makes the table that takes the place of a target's table: loaded rows, and what stays of the old ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there, name_beside, name_there
from airflow_ddlrepl.engines.duckdb.ddl.render import create_table
from airflow_ddlrepl.engines.duckdb.load.shadow import Shadow
from airflow_ddlrepl.engines.duckdb.merge.retained_rows import RETAINED
from airflow_ddlrepl.engines.duckdb.target.state import write_records
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql, physical, value
from airflow_ddlrepl.engines.duckdb_sql.conditions import within
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT, as_written
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.engines.transactional.target_only_columns import TargetOnly, target_only
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import RefreshDeclined
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.target_columns import DELETED, DELETED_AT, deletion_column, history_columns
from airflow_ddlrepl.notation.refresh_options import Difference

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_ROWS = "ddlrepl_loaded"


def replace_table(connection: Connection, holder: str, placing: Placing, shadow: Shadow) -> int:
    """Make the new table in place of the old one, in the open transaction; return how many rows were loaded into it.

    By key loaded rows keep what only the target has of them. holder: under which name the state is stored. Raises
    CannotAdapt ADP-104, ADP-140, and what `target_only` does.
    """
    state = placing.state
    loading = name_beside(state.name)
    found = name_there(connection, placing.previous) if placing.previous else None
    previous = found if found == placing.previous else None
    _require_free(connection, state.name, previous)
    there = columns_there(connection, previous) if previous else {}
    own = target_only(there, placing, partial(_has_values, connection, previous))
    for statement in create_table(state.shape, loading):
        connection.execute(statement)
    for name, of in own.added.items():
        connection.execute(f"ALTER TABLE {qualified(loading)} ADD COLUMN {quote(name)} {of}")
    _refuse_masks(placing)
    count = _load(connection, placing.state.shape, shadow, loading, previous, own)
    if previous is not None and placing.recorded is not None:
        _Staying(connection, placing, placing.recorded, previous, loading, own, holder).insert()
    for table in dict.fromkeys(filter(None, (previous, state.name))):
        connection.execute(f"DROP TABLE IF EXISTS {qualified(table)}")
    connection.execute(f"ALTER TABLE {qualified(loading)} RENAME TO {quote(state.name.name)}")
    return count


def _has_values(connection: Connection, table: TableName | None, columns: Collection[str]) -> bool:
    """Has a row of a table a value in one of these columns?"""
    if table is None:
        return False
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in columns)
    return bool(connection.execute(f"SELECT 1 FROM {qualified(table)} WHERE {filled} LIMIT 1").fetchall())


def _load(
    connection: Connection,
    shape: Table,
    shadow: Shadow,
    loading: TableName,
    previous: TableName | None,
    own: TargetOnly,
) -> int:
    """Copy the loaded rows into the new table; return how many they are."""
    rows = shadow.rows
    if rows is None:
        return 0
    types, constants = columns_sql(shape), shadow.constants
    loaded = [column.name for column in shape.columns if column.name not in own.before]
    values = [f"s.{quote(name)}" if name in rows.column_names else constants.get(name, "NULL") for name in loaded]
    values += [f"o.{quote(name)}" for name in own.before.values()]
    join = ""
    if own.before and previous:
        pairs = [(f"s.{quote(name)}", f"o.{quote(before)}", types[name]) for name, before in own.key.items()]
        same = " AND ".join(f"{here} = TRY_CAST({there} AS {of})" for here, there, of in pairs)
        join = f" LEFT JOIN {qualified(previous)} AS o ON {same}"
    into = f"{qualified(loading)} ({', '.join(map(quote, (*loaded, *own.before)))})"
    connection.register(_ROWS, rows)
    connection.execute("SET preserve_insertion_order = false")  # else it copies batches that are no row group
    count = connection.execute(f"INSERT INTO {into} SELECT {', '.join(values)} FROM {_ROWS} AS s{join}").fetchall()
    connection.execute("RESET preserve_insertion_order")
    connection.unregister(_ROWS)
    return int(count[0][0])


@dataclass
class _Staying:
    """Rows of the old table may stay: all of a history, deleted ones, those that a condition leaves (`restrict`)."""

    connection: Connection
    placing: Placing
    recorded: Table
    previous: TableName
    loading: TableName
    own: TargetOnly
    holder: str

    def insert(self) -> None:
        """Copy the rows that stay into the new table."""
        shape = self.placing.state.shape
        if history_columns(self.recorded) is not None and (history := history_columns(shape)) is not None:
            self._copy(f"{quote(history.operation)} IS NOT NULL")  # others are from before the table was a history
            key = LogKey(self.placing.at or Position(0), -1)
            now = round(datetime.now(UTC).timestamp() * 1_000_000)
            self.connection.execute(RETAINED.note_truncate(shape, self.loading, (key, now, None)))
        elif self.placing.limit is not None:
            self._copy(f"NOT ({within(self.placing.limit, shape, physical)}) AND {self._is_gone()}")
        elif deletion_column(shape) and deletion_column(self.recorded):
            self._copy(self._is_gone(), is_deleted=True)
        elif self.placing.options.mask:
            left = self._copy(self._is_gone())
            at = self.placing.state.snapshot
            if left and at is not None:
                told = RefreshDeclined(self.placing.state.table_id, f"{left} not deleted (masked)", at.high)
                write_records(self.connection, self.holder, [told])

    def _is_gone(self) -> str:
        """Return SQL that is true for rows of `c` whose key no loaded row has."""
        key = [quote(column.name) for column in self.placing.state.shape.key_columns()]
        same = " AND ".join(f"s.{name} = c.{name}" for name in key)
        return f"NOT EXISTS (SELECT 1 FROM {qualified(self.loading)} AS s WHERE {same})" if key else "false"

    def _copy(self, which: str, *, is_deleted: bool = False) -> int:
        """Copy the rows `c` of the old table for which SQL is true; return how many. is_deleted: they are marked so."""
        there, shape = columns_there(self.connection, self.previous), self.placing.state.shape
        types, names = columns_sql(shape), {column.id: column.name for column in self.recorded.columns}
        values = {
            column.name: self._value(column, names.get(column.id, ""), there, types[column.name])
            for column in shape.columns
        }
        if is_deleted:
            was_deleted = f"o.{quote(names[next(c.id for c in shape.columns if c.extra == DELETED)])}"
            for column in shape.columns:
                if column.extra == DELETED:
                    values[column.name] = "true"
                if column.extra == DELETED_AT:
                    values[column.name] = f"CASE WHEN {was_deleted} THEN {values[column.name]} ELSE now() END"
        values |= {name: f"o.{quote(name)}" for name in self.own.added}
        listed = ", ".join(map(quote, values))
        rows = ", ".join(f"{sql} AS {quote(name)}" for name, sql in values.items())
        done = self.connection.execute(
            f"INSERT INTO {qualified(self.loading)} ({listed}) SELECT {listed}"
            f" FROM (SELECT {rows} FROM {qualified(self.previous)} AS o) AS c WHERE {which}"
        )
        return int(done.fetchall()[0][0])

    def _value(self, column: Column, before: str, there: Mapping[str, str], of: str) -> str:
        """Return SQL for the value that a column has in a row of the old table, where it was called `before`."""
        if before not in there:
            return value(column.missing, column, self.placing.state.shape.types)
        name = f"o.{quote(before)}"
        if there[before] == of:
            return name
        return as_written(name, there[before]) if of == TEXT else f"CAST({name} AS {of})"


def _refuse_masks(placing: Placing) -> None:
    """Raise CannotAdapt ADP-140 where rows are not to be inserted or updated, or can't be told apart (`-m`)."""
    mask = placing.options.mask
    if mask - {Difference.DELETE} or (mask and placing.state.shape.key is None):
        raise CannotAdapt(
            "a DuckDB file can't leave out inserts or updates of a load, nor rows of a table without a key (`-m`)",
            code="ADP-140",
            table=placing.state.name,
            hint="nothing was changed; `ddlrepl refresh --table` with this table (of the source) loads it in bulk",
        )


def _require_free(connection: Connection, name: TableName, previous: TableName | None) -> None:
    """Raise CannotAdapt ADP-104 where another table has the name; to DuckDB it is the same in upper and lower case."""
    occupant = name_there(connection, name)
    if occupant not in (None, previous):
        raise CannotAdapt(
            f"another table has the name {name}: {occupant}",
            code="ADP-104",
            table=name,
            hint="rename or drop that table at the target; where it is another table of the source, whose name differs"
            " in upper and lower case alone, give one of them another name there (`table_properties`)",
        )
