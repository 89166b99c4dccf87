"""This module finds what exists in a lake: the port `ports.server_facts.ServerFacts`. No Java is started for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there, row_count
from airflow_ddlrepl.engines.lake.catalog.pointers import pointer
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading
from airflow_ddlrepl.engines.lake.connection.location import Location, location_of
from airflow_ddlrepl.engines.lake.target.state import states_named
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.ports.server_facts import ServerFacts
from airflow_ddlrepl.ports.types import TypeSystem


def table_there(connection: Connection, place: Location, name: TableName) -> Table | None:
    """Return the shape of a table; None when there is none.

    A table that a channel has made, and nobody has changed, has the shape that the channel gave it, with the ids of its
    columns; of others the names and Spark's types are known.
    """
    metadata = pointer(connection, place, name)
    if metadata is None:
        return None
    found = columns_there(metadata, place.files)
    for state in states_named(connection, name):
        if columns_sql(state.shape) == found:
            return state.shape.with_(name=name)
    columns = (Column(i, column, DataType(of, "iceberg", of)) for i, (column, of) in enumerate(found.items(), 1))
    return Table(0, name, tuple(columns))


@dataclass
class LakeFacts(ServerFacts):
    """These facts ask the catalog each time. It holds values of every type of a source."""

    location: str = field(repr=False)
    type_system: TypeSystem = LAKE_TYPES
    _known: dict[TableName, Table | None] = field(default_factory=dict)

    def table(self, name: TableName) -> Table | None:
        self.look([name])
        return self._known[name]

    def look(self, names: Collection[TableName]) -> None:
        new = [name for name in names if name not in self._known]
        if not new:
            return
        if not is_there(self.location):
            self._known |= dict.fromkeys(new)
            return
        with reading(self.location) as connection:
            place = location_of(self.location)
            self._known |= {name: table_there(connection, place, name) for name in new}

    def has_rows(self, name: TableName) -> bool:
        if not is_there(self.location):
            return False
        place = location_of(self.location)
        with reading(self.location) as connection:
            metadata = pointer(connection, place, name)
        return metadata is not None and row_count(metadata, place.files) != 0


@dataclass
class EmptiedLakeFacts(LakeFacts):
    """These facts are those of a lake whose tables are all dropped before anything else is done."""

    def look(self, names: Collection[TableName]) -> None:
        self._known |= dict.fromkeys(names)

    def has_rows(self, name: TableName) -> bool:
        return False
