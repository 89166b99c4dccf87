"""This module reads the catalog of a PostgreSQL source: its tables' shapes, sizes and statistics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.creation import creation_text
from airflow_ddlrepl.engines.postgres.catalog.inspect import (
    catalog_now,
    inspect,
    inspect_unlocked,
    listed,
    with_partitions,
)
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import read_any_bytes
from airflow_ddlrepl.engines.postgres.catalog.server_facts import publishes_generated
from airflow_ddlrepl.engines.postgres.catalog.server_traits import server_traits
from airflow_ddlrepl.engines.postgres.catalog.sizes import estimated_rows, sizes
from airflow_ddlrepl.engines.postgres.catalog.table_objects import table_objects
from airflow_ddlrepl.engines.postgres.connection.conditions import require_readable
from airflow_ddlrepl.engines.postgres.connection.connect import location_of, session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.sessions.replication_origin import writing_origins
from airflow_ddlrepl.engines.postgres.source.left_out import would_leave_out
from airflow_ddlrepl.engines.postgres.source.privileges import profile
from airflow_ddlrepl.engines.postgres.types.underlying import types_below
from airflow_ddlrepl.engines.source_catalog import Catalog, LeftOut, OtherRelation, RelationKind, SourceCatalog
from airflow_ddlrepl.model.installation import ServerProfile
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table, TableObject
from airflow_ddlrepl.notation.condition.expression import Part
from airflow_ddlrepl.ports.server_traits import ServerTraits


@dataclass(frozen=True, slots=True)
class PostgresCatalog(SourceCatalog):
    """The catalog of a PostgreSQL source has its tables; it implements `engines.source_catalog.SourceCatalog`.

    connection: in autocommit mode.
    """

    connection: Connection[Any]
    publication: str

    def inspect(self, table_ids: Collection[int]) -> list[Table]:
        """Return the shapes of those of these tables that exist."""
        return inspect(self.connection, list(table_ids))

    def objects(self, table_ids: Collection[int]) -> list[TableObject]:
        """Return what is made on these tables besides their columns, as `table_objects.table_objects` does."""
        return table_objects(self.connection, table_ids)

    def creation_text(self, missing: str) -> str:
        """Return the statements that create what a target lacks, as `creation.creation_text` does."""
        return creation_text(self.connection, missing)

    def inspect_catalog(self, known: str) -> Catalog:
        """Return every table's shape but of those being altered now, as `inspect.inspect_unlocked` does."""
        return inspect_unlocked(self.connection, known)

    def now(self) -> Catalog:
        """Return the catalog's version, and what this moment has seen, as `inspect.catalog_now` does."""
        return catalog_now(self.connection)

    @contextmanager
    def beside(self) -> Iterator[PostgresCatalog]:
        """Return the catalog over a session of its own, to the same place as this one's."""
        with closing(session(location_of(self.connection))) as connection:
            read_any_bytes(connection)
            yield replace(self, connection=connection)

    def list_tables(self) -> dict[int, TableName]:
        """Return ids and names of all tables but those of the system and of extensions, by name."""
        return dict(listed(self.connection, Scope()))

    def with_partitions(self, table_ids: Collection[int]) -> dict[int, TableName]:
        """Return those of these tables that exist, and the partitions of the partitioned ones, by id."""
        return with_partitions(self.connection, table_ids)

    def sizes(self, table_ids: Collection[int]) -> Mapping[int, int]:
        """Return how many bytes each of these tables takes on disk; nothing where one of them is locked."""
        return sizes(self.connection, table_ids)

    def estimated_rows(self, names: Collection[TableName]) -> Mapping[TableName, int]:
        """Return how many rows each of these tables has by the statistics; 0 where they have no number."""
        return estimated_rows(self.connection, names)

    def publishes_generated(self) -> bool:
        """Are values of stored generated columns in the log?"""
        return publishes_generated(self.connection, self.publication)

    def traits(self) -> ServerTraits:
        """Return what the results of the source's expressions depend on."""
        return replace(server_traits(self.connection), publishes_generated=self.publishes_generated())

    def profile(self) -> ServerProfile:
        """Return what kind of server the source is, and as whom it is read."""
        return profile(self.connection)

    def other_relations(self) -> list[OtherRelation]:
        """Return foreign tables, views, sequences and tables of extensions, by name."""
        return other_relations(self.connection)

    def would_leave_out(self, tables: Collection[Table]) -> list[LeftOut]:
        """Return those of these tables that an activation would not publish, as `left_out.would_leave_out` does."""
        return would_leave_out(tables)

    def writing_origins(self) -> list[str]:
        """Return the replication origins of channels that write into this very database, by name."""
        return writing_origins(self.connection)

    def check_condition(self, condition: Part, table: Table, columns: Sequence[Column]) -> None:
        """Raise Unsupported ADP-148 unless the server can evaluate the condition."""
        require_readable(self.connection, condition, table, types_below(columns, table.types))


_KINDS = {
    "f": RelationKind.FOREIGN_TABLE,
    "v": RelationKind.VIEW,
    "m": RelationKind.MATERIALIZED_VIEW,
    "S": RelationKind.SEQUENCE,
    "e": RelationKind.EXTENSION_TABLE,
}
_SQL = """
WITH found AS (
    SELECT c.relkind, n.nspname, c.relname, EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e') AS is_part
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('f', 'v', 'm', 'S', 'r', 'p') AND c.relpersistence <> 't'
      AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ddlrepl'))
SELECT CASE WHEN relkind IN ('r', 'p') THEN 'e' ELSE relkind::text END, nspname, relname FROM found
WHERE is_part = (relkind IN ('r', 'p')) ORDER BY nspname COLLATE "C", relname COLLATE "C"
"""


def other_relations(connection: Connection[Any]) -> list[OtherRelation]:
    """Return the relations of all schemas but the system's that are no tables for a channel, by name."""
    rows = connection.execute(_SQL.encode()).fetchall()
    return [OtherRelation(_KINDS[kind], TableName(schema, name)) for kind, schema, name in rows]
