"""This module writes and reads rows that a table of a file has, and that the source's table does not have any more.

Deleted rows are marked (`soft_delete`); a history has a row per change (`time_key`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from airflow_ddlrepl.adapt.program.program import ProgramStep
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.engines.duckdb.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.duckdb.ddl.render import DuckDdl
from airflow_ddlrepl.engines.duckdb.merge.conditions import within
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.target_columns import deletion_column, deletion_columns, history_columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def truncating(step: ProgramStep, before: TableState) -> Sequence[str]:
    """Return the statements of a TRUNCATE: rows go, or stay as deleted ones, or a history gets a row more."""
    shape, event = before.shape.with_(name=before.name), step.event
    if step.limit is not None:
        return [f"DELETE FROM {qualified(before.name)} WHERE {within(step.limit, shape)}"]
    if (deletion := deletion_columns(shape)) is not None:
        flag, at = deletion
        moment = f", {quote(at)} = {_moment(event.committed)}" if at else ""
        return [f"UPDATE {qualified(before.name)} SET {quote(flag)} = true{moment} WHERE NOT {quote(flag)}"]
    if history_columns(shape) is not None:
        return [note_truncate(shape, before.name, (step.key, event.committed, event.transaction_id))]
    return DuckDdl().sql(Truncate(restart_identity=False), shape)


def note_truncate(shape: Table, name: TableName, of: tuple[LogKey, int, int | None]) -> str:
    """Return the statement that adds the row of a TRUNCATE to a history.

    of: its place in the log, its commit's time (microseconds since 1970, UTC), its transaction's number if it has one.
    """
    key, committed, number = of
    values = {
        "operation": "'truncate'",
        "position": f"{int(key.lsn)}",
        "sequence": f"{key.seq}",
        "commit_time": _moment(committed),
        "transaction": "NULL" if number is None else f"{number}",
    }
    types = columns_sql(shape)
    names = ", ".join(quote(column.name) for column in shape.columns)
    cast = ", ".join(f"CAST({values.get(value_of(one), 'NULL')} AS {types[one.name]})" for one in shape.columns)
    return f"INSERT INTO {qualified(name)} ({names}) VALUES ({cast})"


def present_rows(shape: Table, name: TableName, key: Sequence[str]) -> str:
    """Return SQL for the rows of a table that the source has now. shape: the target's. key: its columns, as SQL.

    Of a history these are the newest row of each key after the last TRUNCATE, without deleted ones.
    """
    table, flag, found = qualified(name), deletion_column(shape), history_columns(shape)
    if flag:
        return f"(SELECT * FROM {table} WHERE NOT {quote(flag)})"
    if found is None or not key:
        return table
    operation, position, sequence = map(quote, (found.operation, found.position, found.sequence))
    last = (
        f"SELECT {position} AS p, {sequence} AS n FROM {table} WHERE {operation} = 'truncate'"
        f" ORDER BY {position} DESC, {sequence} DESC LIMIT 1"
    )
    order = f"t.{position} DESC, t.{sequence} DESC, t.{operation} = 'delete'"
    newest = (
        f"SELECT t.* FROM {table} AS t LEFT JOIN ({last}) AS z ON true WHERE z.p IS NULL OR t.{position} > z.p"
        f" OR (t.{position} = z.p AND t.{sequence} > z.n)"
        f" QUALIFY row_number() OVER (PARTITION BY {', '.join(f't.{one}' for one in key)} ORDER BY {order}) = 1"
    )
    return f"(SELECT * FROM ({newest}) WHERE {operation} <> 'delete')"


def _moment(committed: int) -> str:
    return f"CAST({literal((_EPOCH + timedelta(microseconds=committed)).isoformat())} AS TIMESTAMP WITH TIME ZONE)"
