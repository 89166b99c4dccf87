"""This module finds what exists in a DuckDB file: the port `ports.server_facts.ServerFacts`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.target.state import shape_texts
from airflow_ddlrepl.engines.duckdb.types.physical import columns_sql
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.server_facts import ServerFacts
from airflow_ddlrepl.ports.types import TypeSystem

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def table_there(connection: Connection, name: TableName) -> Table | None:
    """Return the shape of a table; None when there is none.

    A table that a channel has made, and nobody has changed, has the shape that the channel gave it, with the ids of its
    columns; of others the names and DuckDB's types are known.
    """
    found = columns_there(connection, name)
    if not found:
        return None
    for text in shape_texts(connection, name):
        shape = TableState.from_json(json.loads(text)).shape
        if columns_sql(shape) == found:
            return shape.with_(name=name)
    columns = (Column(i, column, DataType(of, "duckdb", of)) for i, (column, of) in enumerate(found.items(), 1))
    return Table(0, name, tuple(columns))


@dataclass
class DuckFacts(ServerFacts):
    """These facts ask the file each time; session: opens it. It holds values of every type of a source."""

    session: Callable[[], AbstractContextManager[Any]]
    type_system: TypeSystem = DUCK_TYPES
    _known: dict[TableName, Table | None] = field(default_factory=dict)

    def table(self, name: TableName) -> Table | None:
        self.look([name])
        return self._known[name]

    def look(self, names: Collection[TableName]) -> None:
        if new := [name for name in names if name not in self._known]:
            with self.session() as connection:
                self._known |= {name: table_there(connection, name) for name in new}

    def has_rows(self, name: TableName) -> bool:
        with self.session() as connection:
            if not columns_there(connection, name):
                return False
            return bool(connection.execute(f"SELECT 1 FROM {qualified(name)} LIMIT 1").fetchall())


@dataclass
class EmptiedDuckFacts(DuckFacts):
    """These facts are those of a file whose tables are all dropped before anything else is done."""

    def look(self, names: Collection[TableName]) -> None:
        self._known |= dict.fromkeys(names)

    def has_rows(self, name: TableName) -> bool:
        return False
