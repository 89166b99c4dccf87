"""This module takes tables away from the channel's sequences before the tables change; the cycle's end gives them back.

A default that draws from a sequence, or a sequence that goes with a column, would else be in the way of a statement
that was possible at the source: DROP TABLE, a column that becomes an identity column, a table that replaces another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.target.tracked_sequences import is_there
from airflow_ddlrepl.model.names import TableName

# The tables with their partitions. A default on one of our sequences, or one of ours that a column owns.
_FOUND = """
WITH RECURSIVE part(oid) AS (
    SELECT c.oid FROM unnest(%s::text[], %s::text[]) w(schema, name)
    JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
    UNION SELECT i.inhrelid FROM part JOIN pg_inherits i ON i.inhparent = part.oid),
ours AS (
    SELECT c.oid, n.nspname, c.relname FROM ddlrepl.sequences q JOIN pg_namespace n ON n.nspname = q.schema_name
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = q.sequence_name AND c.relkind = 'S'
    WHERE q.channel = %s)
SELECT 'default', n.nspname, t.relname, a.attname
FROM part JOIN pg_class t ON t.oid = part.oid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_attrdef f ON f.adrelid = t.oid JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = f.adnum
WHERE EXISTS (SELECT FROM pg_depend d JOIN ours ON ours.oid = d.refobjid WHERE d.classid = 'pg_attrdef'::regclass
              AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass)
UNION ALL
SELECT 'owner', ours.nspname, ours.relname, ''
FROM part JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = part.oid AND d.deptype = 'a'
JOIN ours ON d.classid = 'pg_class'::regclass AND d.objid = ours.oid
"""


def release(cursor: Any, channel: str, tables: Sequence[TableName]) -> None:
    """Drop the defaults of these tables that draw from sequences of the channel, and let these go with no column.

    In the open transaction, which locks the tables.
    """
    if not tables or not is_there(cursor.connection):
        return
    cursor.execute(_FOUND, [[one.schema for one in tables], [one.name for one in tables], channel])
    for kind, schema, name, column in cursor.fetchall():
        at = qualified(TableName(schema, name))
        alter = f"ALTER TABLE {at} ALTER COLUMN {quote(column)} DROP DEFAULT" if kind == "default" else ""
        cursor.execute((alter or f"ALTER SEQUENCE {at} OWNED BY NONE").encode())


def release_tables(cursor: Any, channel: str, table_ids: Collection[int]) -> None:
    """Do so with the tables that the target has under these ids of the source."""
    query = "SELECT schema_name, table_name FROM ddlrepl.tables WHERE channel = %s AND table_id = ANY (%s)"
    cursor.execute(query, [channel, list(table_ids)])
    release(cursor, channel, [TableName(schema, name) for schema, name in cursor.fetchall()])
