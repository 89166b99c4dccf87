"""What hangs on a target table: where anything does, its contents are exchanged instead of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connect import Connection

_SQL = """
WITH t AS (
    SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(name)s
)
SELECT DISTINCT what FROM (
    SELECT 'a view or rule' FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
        WHERE d.classid = 'pg_rewrite'::regclass
    UNION ALL SELECT 'a function or another object' FROM t
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype = 'n'
        WHERE d.classid NOT IN ('pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass,
                                'pg_class'::regclass, 'pg_attrdef'::regclass, 'pg_publication_rel'::regclass)
    UNION ALL SELECT 'a use of its row type' FROM t
        JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.deptype = 'n'
         AND d.refobjid IN (t.reltype, (SELECT typarray FROM pg_type WHERE pg_type.oid = t.reltype))
    UNION ALL SELECT 'a foreign key' FROM t JOIN pg_constraint k ON k.contype = 'f' AND t.oid IN (k.conrelid, k.confrelid)
    UNION ALL SELECT 'a constraint' FROM t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype IN ('c', 'x', 't')
    UNION ALL SELECT 'a trigger' FROM t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
    UNION ALL SELECT 'a policy' FROM t WHERE t.relrowsecurity OR EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = t.oid)
    UNION ALL SELECT 'statistics' FROM t JOIN pg_statistic_ext s ON s.stxrelid = t.oid
    UNION ALL SELECT 'a publication' FROM t JOIN pg_publication_rel p ON p.prrelid = t.oid
    UNION ALL SELECT 'an index' FROM t JOIN pg_index i ON i.indrelid = t.oid AND NOT i.indisprimary
        WHERE (SELECT count(*) FROM pg_index k WHERE k.indrelid = t.oid) > 1 OR NOT i.indisunique OR NOT %(has_key)s
           OR i.indpred IS NOT NULL OR i.indexprs IS NOT NULL
    UNION ALL SELECT 'a grant' FROM t WHERE t.relacl IS NOT NULL
    UNION ALL SELECT 'a grant' FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attacl IS NOT NULL
    UNION ALL SELECT 'another owner' FROM t WHERE t.relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
    UNION ALL SELECT 'a comment' FROM t JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = t.oid
    UNION ALL SELECT 'a storage option' FROM t WHERE t.reloptions IS NOT NULL OR t.reltablespace <> 0
        OR t.relpersistence <> 'p' OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = t.oid
            AND (a.attoptions IS NOT NULL OR coalesce(a.attstattarget, -1) <> -1))
    UNION ALL SELECT 'partitions or children' FROM t JOIN pg_inherits i ON t.oid IN (i.inhrelid, i.inhparent)
    UNION ALL SELECT 'a label' FROM t JOIN pg_seclabel l ON l.classoid = 'pg_class'::regclass AND l.objoid = t.oid
) AS found(what) ORDER BY what
"""


def dependants(connection: Connection[Any], name: TableName, *, has_key: bool) -> list[str]:
    """What people (or partitioning) hung on the table, in words; empty: it may be replaced.

    has_key: the table carries a replication key of ours, whose one index counts as nothing.
    """
    values = {"schema": name.schema, "name": name.name, "has_key": has_key}
    return [what for (what,) in connection.execute(_SQL, values)]
