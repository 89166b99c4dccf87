"""This module lists what a database has besides plain tables: views, sequences, tables of extensions and others'."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.source_catalog import OtherRelation, RelationKind
from airflow_ddlrepl.model.names import TableName

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
