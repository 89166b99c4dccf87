"""This module finds the objects that depend on a target's table.

Where there are any, a refresh exchanges the table's rows instead of the table.
"""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

# Whatever depends on the table, its row type or its parts, but for the parts that a table has of its own accord:
# row type, TOAST table, defaults, NOT NULL constraints, the keys of ours, sequences of identity columns.
_DEPENDING = """
WITH t AS (SELECT c.oid, c.reltype FROM pg_class c WHERE c.oid = {table}::regclass),
key AS (
    SELECT i.indexrelid AS oid FROM pg_index i JOIN t ON t.oid = i.indrelid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = ANY ({keys})),
own(classid, objid) AS (
    SELECT 'pg_class'::regclass, t.oid FROM t
    UNION ALL SELECT 'pg_type'::regclass, y.oid FROM t JOIN pg_type y ON t.reltype IN (y.oid, y.typelem)
        WHERE t.reltype <> 0
    UNION ALL SELECT 'pg_attrdef'::regclass, d.oid FROM t JOIN pg_attrdef d ON d.adrelid = t.oid
    UNION ALL SELECT 'pg_class'::regclass, key.oid FROM key
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM t JOIN pg_constraint k ON k.conrelid = t.oid
        WHERE k.contype = 'n' OR k.contype IN ('p', 'u') AND k.conindid IN (SELECT oid FROM key)
    UNION ALL SELECT 'pg_class'::regclass, d.objid FROM t JOIN pg_depend d ON d.refobjid = t.oid
        JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
        WHERE d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass AND d.deptype = 'i')
SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid)
FROM own JOIN pg_depend d ON d.refclassid = own.classid AND d.refobjid = own.objid
LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
WHERE d.deptype IN ('n', 'a', 'i') AND g.tgisinternal IS NOT TRUE
  AND NOT EXISTS (SELECT FROM own o WHERE o.classid = d.classid AND o.objid = d.objid)
  AND NOT EXISTS (SELECT FROM pg_class s WHERE d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 't')
ORDER BY 1
"""
# What is written on the table itself.
_WRITTEN = """
WITH t AS (SELECT c.* , c.oid AS id FROM pg_class c WHERE c.oid = {table}::regclass),
a AS (SELECT a.*, y.typstorage FROM t JOIN pg_attribute a ON a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped
      JOIN pg_type y ON y.oid = a.atttypid),
part(classid, objid) AS (
    SELECT 'pg_class'::regclass, t.id FROM t
    UNION ALL SELECT 'pg_class'::regclass, i.indexrelid FROM t JOIN pg_index i ON i.indrelid = t.id
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM t JOIN pg_constraint k ON k.conrelid = t.id)
SELECT DISTINCT what FROM (
    SELECT 'a grant' FROM t WHERE relacl IS NOT NULL OR EXISTS (SELECT FROM a WHERE attacl IS NOT NULL)
    UNION ALL SELECT 'another owner' FROM t WHERE relowner <> current_user::regrole
    UNION ALL SELECT 'a comment' FROM part JOIN pg_description d ON d.classoid = part.classid AND d.objoid = part.objid
    UNION ALL SELECT 'a security label'
        FROM part JOIN pg_seclabel l ON l.classoid = part.classid AND l.objoid = part.objid
    UNION ALL SELECT 'row security' FROM t WHERE relrowsecurity OR relforcerowsecurity
    UNION ALL SELECT 'a replica identity' FROM t WHERE relreplident <> 'd'
    UNION ALL SELECT 'a tablespace or storage option' FROM t
        WHERE reloptions IS NOT NULL OR reltablespace <> 0 OR relpersistence <> 'p'
           OR EXISTS (SELECT FROM pg_class o WHERE o.oid = t.reltoastrelid AND o.reloptions IS NOT NULL)
           OR EXISTS (SELECT FROM pg_class o JOIN pg_index i ON i.indexrelid = o.oid AND i.indrelid = t.id
                      WHERE o.reloptions IS NOT NULL OR o.reltablespace <> 0 OR i.indisclustered)
           OR EXISTS (SELECT FROM a WHERE attoptions IS NOT NULL OR coalesce(attstattarget, -1) <> -1
                      OR attstorage <> typstorage OR attcompression <> '')
    UNION ALL SELECT 'partitions or children' FROM t JOIN pg_inherits i ON t.id IN (i.inhrelid, i.inhparent)
    UNION ALL SELECT 'an extension' FROM t JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = t.id
        AND d.deptype IN ('e', 'x')
) AS found(what) ORDER BY what
"""


def dependants(connection: Connection[Any], table: Table) -> list[str]:
    """Return what people, or partitioning, have made that depends on the table, in words; empty: it may be replaced.

    table: as inspected at the target; the indexes of its keys count as the channel's. Its defaults do, too.
    """
    names = {"table": literal(qualified(table.name)), "keys": names_of_keys(table)}
    queries = (_DEPENDING.format(**names), _WRITTEN.format(**names))
    return [what for query in queries for (what,) in connection.execute(query.encode())]


def names_of_keys(table: Table) -> str:
    """Return the names of the table's keys as an SQL array; they are the keys that the channel made."""
    return f"ARRAY[{', '.join(literal(key.name) for key in table.keys)}]::name[]"


def is_referenced(connection: Connection[Any], table: TableName) -> bool:
    """Do foreign keys of other tables refer to this table? Then TRUNCATE is refused, even if they have no rows."""
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass"
        " AND conrelid <> confrelid)",
        [qualified(table)],
    ).fetchone()
    return bool(row and row[0])
