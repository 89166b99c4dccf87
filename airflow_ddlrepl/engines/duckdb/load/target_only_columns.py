"""This module preserves columns that only the file's table has, when it is loaded again.

They are those that people added, and those of the channel that the source does not have any more. Their values stay,
by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.duckdb.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.target_columns import history_columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


@dataclass(frozen=True, slots=True)
class TargetOnly:
    """These are the columns of a table that only the target has; all names are as the loaded table has them."""

    added: Mapping[str, str]
    """Those that people added, with DuckDB's type of each."""
    before: Mapping[str, str]
    """What each of these columns, with those of the channel that the source has no more, is called in the old table."""
    key: Mapping[str, str]
    """What each column of the key is called there."""


def target_only(connection: Connection, previous: TableName | None, placing: Placing) -> TargetOnly:
    """Return the columns that stay with their values. previous: the table that is there.

    Raises CannotAdapt ADP-105 where a new column of the source has the name of one that people added, ADP-132 where
    values would be lost, because there is no key to find them by.
    """
    shape, recorded = placing.state.shape, placing.recorded
    there = columns_there(connection, previous) if previous else {}
    known = {column.name for column in recorded.columns} if recorded else {*there}
    if clash := next((c.name for c in shape.columns if c.name in there and c.name not in known), None):
        raise CannotAdapt(
            f"the target table has a column {clash} of its own",
            code="ADP-105",
            table=placing.state.name,
            hint="rename or drop that column at the target",
        )
    ids = {column.id: column.name for column in recorded.columns} if recorded else {}
    names = {column.name: ids.get(column.id, column.name) for column in shape.columns}
    added = {name: of for name, of in there.items() if name not in known and name not in names}
    kept = {name: names[name] for name in placing.keeps if names[name] in there}
    before = {**kept, **{name: name for name in added}}
    key = {column.name: names[column.name] for column in shape.key_columns()}
    if recorded and history_columns(recorded) and history_columns(shape):  # its rows stay, and others come
        before = {}
    elif previous and before and not (key and all(name in there for name in key.values())):
        _refuse_lost(connection, previous, before, placing.state.name)
        before = {}
    return TargetOnly(added, before, key)


def _refuse_lost(connection: Connection, previous: TableName, before: Mapping[str, str], table: TableName) -> None:
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in before.values())
    if connection.execute(f"SELECT 1 FROM {qualified(previous)} WHERE {filled} LIMIT 1").fetchall():
        raise CannotAdapt(
            "the target's table has columns of its own, and no key by which their values could be preserved:"
            f" {next(iter(before))}",
            code="ADP-132",
            table=table,
            hint="move those columns to a table beside it, or drop them, and run again",
        )
