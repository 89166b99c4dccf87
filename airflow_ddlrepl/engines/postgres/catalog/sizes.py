"""This module finds how large tables are: on disk, and in rows by the statistics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.model.names import TableName

LOCK_TIMEOUT = "500ms"  # shorter than deadlock_timeout, so that no user's statement is the victim


def sizes(connection: Connection[Any], table_ids: Collection[int]) -> dict[int, int]:
    """Return how many bytes each of these tables takes on disk, by id; nothing where one of them is locked."""
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
            rows = connection.execute(
                "SELECT i::bigint, pg_relation_size(i) FROM unnest(%s::oid[]) i", [list(table_ids)]
            ).fetchall()
    except errors().LockNotAvailable:
        return {}
    return {int(i): int(size or 0) for i, size in rows}


def estimated_rows(connection: Connection[Any], names: Collection[TableName]) -> dict[TableName, int]:
    """Return how many rows each of these tables has by the statistics; 0 where they have no number."""
    rows = connection.execute(
        "SELECT n.nspname, c.relname, greatest(c.reltuples, 0)::bigint"
        " FROM unnest(%s::text[], %s::text[]) w(schema, name)"
        " JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name",
        [[name.schema for name in names], [name.name for name in names]],
    ).fetchall()
    return dict.fromkeys(names, 0) | {TableName(schema, name): int(count) for schema, name, count in rows}
