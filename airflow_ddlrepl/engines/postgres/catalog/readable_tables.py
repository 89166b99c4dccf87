"""This module locks tables of the source for reading; those that can't be read, or locked, do not stop the others."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.engines.postgres.catalog.inspect import LOCKED_SQL
from airflow_ddlrepl.engines.postgres.catalog.raw_texts import is_raw
from airflow_ddlrepl.engines.postgres.catalog.sizes import LOCK_TIMEOUT
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.errors import BlockedByOthers, UnreadableTable
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

PATIENCE_SECONDS = 10.0
# A partition is loaded with all tables of its tree: one that can't be read keeps them waiting.
_ACCESS_SQL = """
SELECT c.oid::bigint, n.nspname, c.relname, current_user::text, coalesce(pg_partition_root(c.oid), c.oid)::bigint,
    has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s::oid[])
"""


@dataclass(frozen=True, slots=True)
class ReadableTables:
    """These are tables that a session reads. names: of those that it has locked, by id. refused: why not the others."""

    names: Mapping[int, TableName] = field(default_factory=dict)
    refused: Mapping[int, UnreadableTable] = field(default_factory=dict)


def lock_readable(connection: Connection[Any], table_ids: Sequence[int]) -> ReadableTables:
    """Lock tables by name, then check that the names still mean the same tables; else lock again.

    The connection is in a transaction with one snapshot afterwards, which a lock does not take. Waiting for one table
    holds none of the others for long. A table that is gone is left out.
    Raises SourceError SRC-171 where nobody can tell which table is locked.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    held: dict[int, UnreadableTable] = {}
    while True:
        found = readable(connection, [i for i in table_ids if i not in held])
        connection.rollback()
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            lock(connection, found.names.values())
        except (errors().UndefinedTable, errors().InsufficientPrivilege):
            connection.rollback()
            if time.monotonic() > deadline:
                raise always_altered() from None
            continue
        except errors().LockNotAvailable:
            connection.rollback()
            if time.monotonic() > deadline:
                held |= held_by_others(connection, found.names)
                deadline = time.monotonic() + PATIENCE_SECONDS
            continue
        if table_names(connection, list(found.names)) == found.names:
            return ReadableTables(found.names, {**found.refused, **held})
        connection.rollback()


def readable(connection: Connection[Any], table_ids: Sequence[int]) -> ReadableTables:
    """Return which tables the role may read, by their names now, and why it may not read the others."""
    rows = connection.execute(_ACCESS_SQL, [list(table_ids)]).fetchall()
    names = {int(i): TableName(schema, name) for i, schema, name, *_ in rows}
    roots = {int(row[0]): int(row[4]) for row in rows}
    refused = {}
    for i, _, _, role, _, has_schema, may_select, hides_rows in rows:
        if not (has_schema and may_select) or hides_rows:
            refused[int(i)] = _refusal(names[i], role, has_schema=has_schema, may_select=may_select)
    refused |= _in_their_trees(refused, roots, names)
    return ReadableTables({i: name for i, name in names.items() if i not in refused}, refused)


def _refusal(table: TableName, role: str, *, has_schema: bool, may_select: bool) -> UnreadableTable:
    if not has_schema:
        what, fix = "use its schema", f"GRANT USAGE ON SCHEMA {quote(table.schema)} TO {quote(role)};"
    elif not may_select:
        what, fix = "read it", f"GRANT SELECT ON {qualified(table)} TO {quote(role)};"
    else:
        what, fix = "see all its rows: it has row level security", f"ALTER ROLE {quote(role)} BYPASSRLS;"
    hint = f"{fix} the next run loads the table; docs/postgresql.md has the reading role"
    return UnreadableTable(f"the table can't be read: {role} may not {what}", code="SRC-105", table=table, hint=hint)


def _in_their_trees(
    refused: Mapping[int, UnreadableTable], roots: Mapping[int, int], names: Mapping[int, TableName]
) -> dict[int, UnreadableTable]:
    """Return errors for the tables of the partition trees in which one can't be read."""
    first = {roots[i]: error for i, error in refused.items()}
    found = {}
    for i, root in roots.items():
        if root in first and i not in refused:
            why = first[root]
            message = f"the table waits for {why.table} of the same partitioned table: {why.message}"
            found[i] = UnreadableTable(message, code=why.code, table=names[i], hint=why.hint, retryable=why.retryable)
    return found


def held_by_others(
    connection: Connection[Any], names: Mapping[int, TableName], altered: Collection[int] = ()
) -> dict[int, UnreadableTable]:
    """Return errors for the tables that others have locked or altered. Raises SourceError SRC-171 where none is."""
    ids = ({int(i) for (i,) in connection.execute(LOCKED_SQL.encode())} | {*altered}) & names.keys()
    connection.rollback()
    if not ids:
        raise always_altered() from None
    refused = {i: _locked(names[i]) for i in ids}
    roots = {int(row[0]): int(row[4]) for row in connection.execute(_ACCESS_SQL, [list(names)])}
    connection.rollback()
    return refused | _in_their_trees(refused, roots, names)


def lock(connection: Connection[Any], names: Collection[TableName]) -> None:
    """Lock tables as a SELECT does. Raises LockNotAvailable, UndefinedTable, InsufficientPrivilege of psycopg."""
    connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
    if names:
        every = ", ".join(f"ONLY {qualified(name)}" for name in names)
        connection.execute(f"LOCK TABLE {every} IN ACCESS SHARE MODE".encode())


def table_names(connection: Connection[Any], table_ids: Iterable[int]) -> dict[int, TableName]:
    """Return the names of those of these tables that exist."""
    rows = connection.execute(
        "SELECT c.oid::bigint, n.nspname, c.relname FROM pg_catalog.pg_class c"
        " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s::oid[])",
        [list(table_ids)],
    ).fetchall()
    return {int(i): TableName(schema, name) for i, schema, name in rows}


def not_inspected(
    connection: Connection[Any], names: Mapping[int, TableName], tables: Iterable[Table]
) -> dict[int, UnreadableTable]:
    """Return errors for tables that are there and have no shape: a name or text in it is no UTF-8.

    names: of tables that the session has locked. tables: what inspecting them has found.
    """
    if not is_raw(connection):
        return {}
    missing = names.keys() - {table.id for table in tables}
    return {i: _undecodable(names[i]) for i in missing}


def _undecodable(table: TableName) -> UnreadableTable:
    what = "the table can't be read: a name, or a text such as a default or a label, has bytes that are no UTF-8"
    hint = "rename it at the source, from a session with the client_encoding SQL_ASCII: the next run loads the table"
    return UnreadableTable(what, code="SRC-176", table=table, hint=hint)


_WHO = "SELECT * FROM pg_locks WHERE mode = 'AccessExclusiveLock' tells who; the next run tries again"


def _locked(table: TableName) -> UnreadableTable:
    what = f"the table is locked or changed by schema changes for more than {PATIENCE_SECONDS:g} seconds"
    return UnreadableTable(what, code="SRC-171", table=table, hint=_WHO, retryable=True)


def always_altered() -> BlockedByOthers:
    """Return the error that tables are locked, or changed again and again, and nobody can tell which."""
    return BlockedByOthers(
        f"a table is locked or changed by schema changes for more than {PATIENCE_SECONDS:g} seconds",
        code="SRC-171",
        hint=_WHO,
        retryable=True,
    )
