"""This module reads what single row changes need to know of a target's table: its columns' types and its key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.owners.strangers import owned_by_strangers
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.types import TypeDefinition

# A type of an extension has an equality of its own, which the search path does not show.
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, -1), format_type(a.atttypid, a.atttypmod), a.attidentity = 'a',
    a.attgenerated <> '', a.attnum = ANY (k.indkey::int2[]),
    (SELECT format('OPERATOR(%%I.%%s)', n.nspname, o.oprname)
     FROM pg_opclass c JOIN pg_amop f ON f.amopfamily = c.opcfamily AND f.amopstrategy = 3
     JOIN pg_operator o ON o.oid = f.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
     WHERE c.opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree') AND c.opcdefault
       AND c.opcintype = coalesce(nullif(t.typbasetype, 0), t.oid)
       AND f.amoplefttype = c.opcintype AND f.amoprighttype = c.opcintype
       AND n.nspname <> 'pg_catalog'),
    t.typtypmod = -1 AND b.typtype <> 'd' AND NOT EXISTS (
        SELECT FROM pg_cast c WHERE c.castsource = 'text'::regtype AND c.casttarget = b.oid AND c.castmethod = 'f')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
LEFT JOIN pg_index k ON k.indrelid = a.attrelid AND k.indisprimary
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# Whatever fires for a row, or in place of it, sees the rows one by one, in the order of the log.
_FACTS = """
SELECT c.relkind IN ('r', 'p') AND NOT EXISTS (
    SELECT FROM pg_trigger g WHERE g.tgenabled = ANY (f.firing)
        AND (g.tgrelid = c.oid OR g.tgrelid IN (SELECT relid FROM pg_partition_tree(c.oid)))
) AND NOT EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.ev_enabled = ANY (f.firing)),
    NOT EXISTS (SELECT FROM pg_index i WHERE (i.indisunique OR i.indisexclusion) AND NOT i.indisprimary
        AND (i.indrelid = c.oid OR i.indrelid IN (SELECT relid FROM pg_partition_tree(c.oid))))
FROM pg_class c, (SELECT CASE WHEN current_setting('session_replication_role') = 'replica' THEN '{A,R}' ELSE '{A,O}' END
    ::"char"[]) AS f(firing)
WHERE c.oid = to_regclass(%s)
"""


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A target column's `type` reads a text without rounding or cutting it; `stored_type` makes of it what is stored.

    is_identity: always generated, but for a statement that overrides it. equals: the operator of its type.
    reads_text: a text that is cast to the type becomes the value that the type itself reads from it.
    """

    name: str
    type: str
    stored_type: str
    is_identity: bool
    is_generated: bool
    equals: str
    reads_text: bool


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table layout has the columns of a target's table by name, and the names of its primary key's columns.

    is_silent: nothing of the target's fires when its rows change. has_only_key: no other values have to be unique.
    """

    columns: Mapping[str, TargetColumn]
    key: tuple[str, ...]
    is_silent: bool
    has_only_key: bool


def read_layout(cursor: Any, name: TableName) -> TableLayout | None:
    """Return the layout of a table; None: there is no such table."""
    cursor.execute(_COLUMNS, [qualified(name)])
    found = cursor.fetchall()
    if not found:
        return None
    columns = {row[0]: TargetColumn(row[0], row[1], row[2], row[3], row[4], row[6] or "=", row[7]) for row in found}
    key = tuple(row[0] for row in found if row[5])
    cursor.execute(_FACTS, [qualified(name)])
    row = cursor.fetchone()
    is_silent, has_only_key = row if row is not None else (False, False)
    return TableLayout(columns, key, is_silent, has_only_key)


def require_trusted(
    cursor: Any, uses: Mapping[TableName, Collection[TypeDefinition]], trusted_roles: Iterable[str]
) -> None:
    """Raise ApplyError APL-118 where one of these tables would use what belongs to a role that is not trusted.

    A schema's owner is trusted in it: that role makes its objects, where the file names no other (`run_as`).
    uses: as `owned_by_strangers` takes it.
    """
    found = owned_by_strangers(cursor, uses, trusted_roles)
    at_home = {(one.table, one.owner) for one in found if one.kind == "SCHEMA"}
    for one in found:
        if (one.table, one.owner) not in at_home:
            raise ApplyError(one.text, code="APL-118", table=one.table, hint=one.fix)
