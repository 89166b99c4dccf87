"""This module finds partitions that only a target has: what is in them shows in the channel's table above them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.errors import AlterRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus

if TYPE_CHECKING:
    from airflow_ddlrepl.adapt.program.program import ProgramStep

# Below a partition of the channel's no other one is looked for: its rows are the channel's.
_BELOW = """
WITH RECURSIVE known AS (SELECT to_regclass(name)::oid AS oid FROM unnest(%(known)s::text[]) AS k(name)),
below AS (
    SELECT p.oid AS top, i.inhrelid AS oid FROM unnest(%(tables)s::text[]) AS t(name)
    JOIN pg_class p ON p.oid = to_regclass(t.name) AND p.relkind = 'p' JOIN pg_inherits i ON i.inhparent = p.oid
    WHERE i.inhrelid NOT IN (SELECT oid FROM known WHERE oid IS NOT NULL)
    UNION ALL
    SELECT b.top, i.inhrelid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid
    WHERE i.inhrelid NOT IN (SELECT oid FROM known WHERE oid IS NOT NULL)
)
SELECT tn.nspname, t.relname, n.nspname, c.relname, c.relkind = 'r'
FROM below b JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class t ON t.oid = b.top JOIN pg_namespace tn ON tn.oid = t.relnamespace
WHERE c.relkind IN ('r', 'f') ORDER BY 1, 2, 3, 4
"""


def filled_partitions(
    connection: Connection[Any], tables: Collection[TableName], known: Collection[TableName]
) -> list[tuple[TableName, TableName]]:
    """Return partitions below these tables that are none of the known ones and have rows, each with its table.

    Rows of a foreign table are not looked for: it may have some.
    """
    names = {"tables": list(map(qualified, tables)), "known": list(map(qualified, known))}
    found = []
    for schema, table, own_schema, own, is_readable in connection.execute(_BELOW, names).fetchall():
        name = TableName(own_schema, own)
        if not is_readable or _has_rows(connection, name):
            found.append((TableName(schema, table), name))
    return found


def _has_rows(connection: Connection[Any], name: TableName) -> bool:
    row = connection.execute(f"SELECT EXISTS (SELECT FROM ONLY {qualified(name)})".encode()).fetchone()
    return row is not None and bool(row[0])


def refuse_drop_of_others(cursor: Any, channel: str, step: ProgramStep) -> None:
    """Raise AlterRefused ADP-130 where a step drops a table, and with it partitions that people have filled."""
    plan, before = step.plan, step.before
    if plan is None or before is None or not (plan.is_removed and plan.steps and before.shape.is_partitioned):
        return
    query = "SELECT schema_name, table_name FROM ddlrepl.tables WHERE channel = %s AND state <> %s"
    known = [TableName(*row) for row in cursor.execute(query, [channel, TableStatus.ORPHANED]).fetchall()]
    found = filled_partitions(cursor.connection, [before.name], known)
    if not found:
        return
    from airflow_ddlrepl.adapt.plan.refused_alter import MEND

    raise AlterRefused(
        f"to drop {before.name} would drop {', '.join(str(own) for _, own in found)}, too, which is the target's own",
        on=(step.table_id, step.key),
        code="ADP-130",
        table=plan.name,
        at=step.key,
        hint=f"neither this change nor what follows it in this table is applied; {MEND}",
    )
