"""What a PostgreSQL source has: its tables' shapes, sizes and statistics, read from its catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.config.condition.expression import Part
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect, inspect_unlocked, listed, with_partitions
from airflow_ddlrepl.engines.postgres.catalog.server_facts import publishes_generated
from airflow_ddlrepl.engines.postgres.catalog.sizes import estimated_rows, sizes
from airflow_ddlrepl.engines.postgres.connection.conditions import require_readable
from airflow_ddlrepl.engines.source import Catalog
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection


@dataclass(frozen=True, slots=True)
class PostgresCatalog:
    """`SourceCatalog` of a PostgreSQL source. connection: in autocommit mode."""

    connection: Connection[Any]
    publication: str

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that are there."""
        return inspect(self.connection, list(table_ids))

    def inspect_catalog(self, known: str) -> Catalog:
        """Return what `inspect.inspect_unlocked` returns."""
        return inspect_unlocked(self.connection, known)

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of all tables but those of the system and of extensions, by name."""
        return dict(listed(self.connection, Scope()))

    def with_partitions(self, table_ids: Collection[int]) -> dict[int, TableName]:
        """Return these tables that are there, and the partitions of the partitioned ones, by id."""
        return with_partitions(self.connection, table_ids)

    def sizes(self, table_ids: Collection[int]) -> Mapping[int, int]:
        """Return what the tables take on disk, in bytes; nothing where one of them is locked."""
        return sizes(self.connection, table_ids)

    def estimated_rows(self, names: Collection[TableName]) -> Mapping[TableName, int]:
        """Return what the statistics say of these tables; 0 where they say nothing."""
        return estimated_rows(self.connection, names)

    def publishes_generated(self) -> bool:
        """Are values of stored generated columns in the stream?"""
        return publishes_generated(self.connection, self.publication)

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raises Unsupported ADP-148 when the server can't read the condition."""
        require_readable(self.connection, condition, table, columns)
