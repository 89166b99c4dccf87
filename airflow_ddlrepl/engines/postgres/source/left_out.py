"""This module finds the tables of a channel whose rows are not in the source's log, with reason and position."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.source import membership
from airflow_ddlrepl.engines.postgres.source.member_cause import CAUSE, NO_KEY, UNLOGGED, Cause
from airflow_ddlrepl.engines.source import LeftOut
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

# An older helper schema has no column left_at.
_LEFT_OUT = f"""
SELECT m.table_id::bigint, m.schema_name, m.table_name,
    CASE WHEN m.state = 'left out' THEN m.reason
        WHEN EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
                     JOIN ddlrepl.channel c ON c.publication = p.pubname AND c.name = m.channel
                     WHERE r.prrelid = m.table_id) THEN 'its publication leaves out rows or columns of it'
        ELSE 'somebody has taken it out of the publication' END,
    to_jsonb(m) ->> 'left_at', CASE WHEN m.state = 'left out' THEN {CAUSE} END, m.state <> 'left out'
FROM ddlrepl.member m WHERE m.channel = %s AND (m.state = 'left out' OR {membership.IS_MISSING}) ORDER BY 2, 3
"""

# Without event triggers nobody writes down a new one.
_UNLOGGED = """
SELECT c.oid::bigint, n.nspname, c.relname, EXISTS (
    SELECT FROM pg_catalog.pg_inherits i JOIN ddlrepl.member m ON m.table_id = i.inhparent
    WHERE i.inhrelid = c.oid AND c.relispartition AND m.channel = %s AND m.state <> 'bystander')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'u'
  AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  AND NOT EXISTS (SELECT FROM ddlrepl.member m WHERE m.channel = %s AND m.table_id = c.oid)
"""


def left_out(connection: Connection[Any], channel: str, scope: Scope) -> list[LeftOut]:
    """Return the channel's tables whose rows are not in the log, by name."""
    rows = connection.execute(_LEFT_OUT.encode(), [channel], prepare=True)
    known = [
        LeftOut(
            int(i),
            TableName(schema, name),
            why,
            Position.parse(since) if since else None,
            cause == Cause.GENERATED,
            is_lost,
            cause == Cause.ENCODING,
        )
        for i, schema, name, why, since, cause, is_lost in rows
    ]
    new = [
        LeftOut(int(i), TableName(schema, table), UNLOGGED)
        for i, schema, table, has_parent in connection.execute(_UNLOGGED, [channel, channel], prepare=True)
        if _belongs(scope, TableName(schema, table), is_partition=has_parent)
    ]
    return sorted([*known, *new], key=lambda one: one.name)


def would_leave_out(tables: Collection[Table]) -> list[LeftOut]:
    """Return those of these tables that an activation would not publish, each with the reason.

    It decides as `ddlrepl.identity_plan` in tending.sql does, for a publication of ours, before that is there.
    """
    found = [LeftOut(table.id, table.name, UNLOGGED) for table in tables if table.unlogged]
    for table in tables:
        has_virtual = any(column.generated == "virtual" for column in table.columns)
        if has_virtual and table.key is None and not table.is_partitioned and not table.unlogged:
            found.append(LeftOut(table.id, table.name, NO_KEY, is_reloaded=True))
    return found


def _belongs(scope: Scope, name: TableName, *, is_partition: bool) -> bool:
    """Does a table that the helper schema does not know belong to the channel?

    is_partition: of a table that does.
    """
    decision = decide(Client(scope), name, ChangeKind.NEW_TABLE)
    return decision.is_taken or (is_partition and not decision.is_excluded)
