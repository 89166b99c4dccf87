"""This module shows partitioned tables as views: the rows are in their partitions, which are tables of their own.

A view is there between the transactions only: each that may change tables removes the channel's views first, and makes
those of the tables that it leaves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there, name_there
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_TREES = """
SELECT state FROM ddlrepl.tables WHERE channel = ?
    AND NOT (json_extract_string(state, '$.shape.partition_key') IS NULL
             AND json_extract_string(state, '$.shape.partition') IS NULL)
ORDER BY table_id
"""
_VIEW = "SELECT 1 FROM duckdb_views() WHERE database_name = current_database() AND schema_name = ? AND view_name = ?"
_SHOWN = (TableStatus.LIVE, TableStatus.PENDING, TableStatus.SUSPENDED)


@contextmanager
def views_renewed(connection: Connection, channel: str) -> Iterator[None]:
    """Take the channel's views away while the open transaction changes tables, and make them again at its end.

    Raises CannotAdapt ADP-104 where a table has the name of a view.
    """
    for one in _trees(connection, channel):
        if one.shape.is_partitioned and connection.execute(_VIEW, [*one.name]).fetchall():
            connection.execute(f"DROP VIEW {qualified(one.name)}")
    yield
    states = _trees(connection, channel)
    for one in sorted((one for one in states if one.shape.is_partitioned), key=lambda one: -_depth(one, states)):
        if one.state in _SHOWN:
            _make(connection, one, [part for part in states if part.shape.partition is not None])


def _trees(connection: Connection, channel: str) -> list[TableState]:
    found = connection.execute(_TREES, [channel]).fetchall()
    return [TableState.from_json(json.loads(text)) for (text,) in found]


def _make(connection: Connection, table: TableState, partitions: Sequence[TableState]) -> None:
    """Make the view of one partitioned table. A partition that waits for its rows may not have all of its columns."""
    if name_there(connection, table.name) is not None:
        raise CannotAdapt(
            f"a partitioned table is a view in a DuckDB file, and a table has its name: {table.name}",
            code="ADP-104",
            table=table.name,
            hint="rename or drop that table at the target",
        )
    columns = columns_sql(table.shape)
    selects = [_select(columns, columns, "WHERE false", nothing=True)]
    for one in partitions:
        is_ours = one.shape.partition is not None and one.shape.partition.of == table.table_id
        if is_ours and (there := columns_there(connection, one.name)):
            selects.append(_select(columns, there, f"FROM {qualified(one.name)}"))
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote(table.name.schema)}")
    connection.execute(f"CREATE VIEW {qualified(table.name)} AS {' UNION ALL '.join(selects)}")


def _select(columns: dict[str, str], there: dict[str, str], rows: str, *, nothing: bool = False) -> str:
    def value(name: str, of: str) -> str:
        if nothing or name not in there:
            return f"CAST(NULL AS {of})"
        return quote(name) if there[name] == of else f"CAST({quote(name)} AS {of})"

    return f"SELECT {', '.join(f'{value(name, of)} AS {quote(name)}' for name, of in columns.items())} {rows}"


def _depth(table: TableState, states: Sequence[TableState]) -> int:
    """Return how many partitioned tables a table is below."""
    by_id = {one.table_id: one for one in states}
    depth, at = 0, table
    while at.shape.partition is not None and at.shape.partition.of in by_id:
        depth, at = depth + 1, by_id[at.shape.partition.of]
    return depth
