"""This module stores which rows of the source a target's tables do not have: no room for a value, or a lost conflict.

A row is written and removed in the transaction that changes its table.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardedRows
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified
from airflow_ddlrepl.engines.postgres.target.channel_table import ChannelTable
from airflow_ddlrepl.engines.postgres.target.conflict_counts import conflict_counts
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.conflicts import Conflict

TABLE = "discarded_rows"
CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.discarded_rows (
    channel text NOT NULL, table_id bigint NOT NULL, key text[] NOT NULL, lsn pg_lsn NOT NULL, reason text NOT NULL,
    "row" jsonb NOT NULL, discarded_at timestamptz NOT NULL DEFAULT now());
ALTER TABLE ddlrepl.discarded_rows ADD COLUMN IF NOT EXISTS conflict text,
    ADD COLUMN IF NOT EXISTS number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
CREATE INDEX IF NOT EXISTS discarded_rows_of_table ON ddlrepl.discarded_rows (channel, table_id);
"""
_PUT = """
INSERT INTO ddlrepl.discarded_rows (channel, table_id, key, lsn, reason, "row", conflict)
SELECT %s, r.table_id, r.key, r.lsn, r.reason, r."row", r.conflict
FROM jsonb_to_recordset(%s::jsonb)
    AS r(table_id bigint, key text[], lsn pg_lsn, reason text, "row" jsonb, conflict text)
"""
_REMOVE = """
DELETE FROM ddlrepl.discarded_rows WHERE channel = %s AND table_id = %s AND key IN (
    SELECT r.key FROM jsonb_to_recordset(%s::jsonb) AS r(key text[]))
"""
_AT_ONCE = 10_000
"""So many rows are sent in one statement."""
STORED = ChannelTable(TABLE, CREATE, "number")


@dataclass(frozen=True, slots=True)
class PostgresDiscardedRows(DiscardedRows):
    """These are the discarded rows of one channel in a PostgreSQL target. holder: the name that its state has there."""

    connection: Connection[Any]
    holder: str

    def counts(self) -> Mapping[int, int]:
        query = "SELECT table_id, count(*) FROM ddlrepl.discarded_rows WHERE channel = %s GROUP BY 1"
        return {int(i): int(n) for i, n in self._ask(query, [self.holder])}

    def keys(self, table_id: int) -> frozenset[tuple[str, ...]]:
        query = "SELECT key FROM ddlrepl.discarded_rows WHERE channel = %s AND table_id = %s"
        return frozenset(tuple(row[0]) for row in self._ask(query, [self.holder, table_id]))

    def all_of(self, table_id: int) -> list[DiscardedRow]:
        return self._rows("AND table_id = %s", [table_id])

    def conflicts(self) -> dict[int, dict[str, int]]:
        return conflict_counts(self.connection, self.holder)

    def newest(self, most: int) -> list[DiscardedRow]:
        return self._rows("ORDER BY discarded_at DESC, table_id, key LIMIT %s", [most])

    def _rows(self, which: str, values: Sequence[Any]) -> list[DiscardedRow]:
        columns = 'table_id, key, reason, "row", lsn::text, discarded_at, conflict'
        query = f"SELECT {columns} FROM ddlrepl.discarded_rows WHERE channel = %s {which}"
        return [
            DiscardedRow(int(number), tuple(key), why, row, Position.parse(at), since, Conflict(lost) if lost else None)
            for number, key, why, row, at, since, lost in self._ask(query, [self.holder, *values])
        ]

    def _ask(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self.connection.execute(query.encode(), values).fetchall() if STORED.is_there(self.connection) else []


def replace_rows(
    cursor: Any, channel: str, table_id: int, keys: Collection[tuple[str, ...]], rows: Sequence[DiscardedRow]
) -> None:
    """Remove the rows of these keys of a table, and add others, in the open transaction."""
    gone = {*keys, *(row.key for row in rows)}
    if not gone:
        return
    STORED.ensure(cursor)
    for some in _batches([{"key": key} for key in sorted(gone)]):
        cursor.execute(_REMOVE, [channel, table_id, json.dumps(some)])
    _add(cursor, channel, rows)


def remove_rows(cursor: Any, channel: str, table_id: int, keys: Iterable[str]) -> None:
    """Remove the rows of a table whose keys these queries return as `key`, in the open transaction."""
    if STORED.is_there(cursor.connection):
        for query in keys:
            cursor.execute(
                f"DELETE FROM ddlrepl.discarded_rows WHERE channel = {literal(channel)} AND table_id = {table_id}"
                f" AND key IN ({query})".encode()
            )


def clear(cursor: Any, channel: str, table_ids: Collection[int]) -> None:
    """Remove all rows of these tables, in the open transaction."""
    if table_ids and STORED.is_there(cursor.connection):
        query = "DELETE FROM ddlrepl.discarded_rows WHERE channel = %s AND table_id = ANY (%s)"
        cursor.execute(query, [channel, list(table_ids)])


def found_by(shadow: TableName) -> TableName:
    """Return the name of the table that takes the rows which a load discards, until its shadow is put in place."""
    return shadow._replace(name=f"{shadow.name}d")


def making(shadow: TableName) -> str:
    """Return the statement that creates the table for the rows which a load discards."""
    return f'CREATE TABLE IF NOT EXISTS {qualified(found_by(shadow))} (key text[], reason text, "row" jsonb)'


def placed(
    cursor: Any, channel: str, table_id: int, shadow: TableName, at: Position, rows: Sequence[DiscardedRow] = ()
) -> None:
    """Replace the rows of a table by those that its load has discarded, in the open transaction.

    at: the position of the load. rows: more of them, which a rewind has found.
    """
    clear(cursor, channel, [table_id])
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [qualified(found_by(shadow))])
    if cursor.fetchone()[0]:
        STORED.ensure(cursor)
        found = f'SELECT {literal(channel)}, {table_id}, key, {literal(str(at))}::pg_lsn, reason, "row"'
        cursor.execute(
            'INSERT INTO ddlrepl.discarded_rows (channel, table_id, key, lsn, reason, "row")'
            f" {found} FROM {qualified(found_by(shadow))}".encode()
        )
        cursor.execute(f"DROP TABLE {qualified(found_by(shadow))}".encode())
    if rows:
        STORED.ensure(cursor)
        _add(cursor, channel, rows)


def _add(cursor: Any, channel: str, rows: Sequence[DiscardedRow]) -> None:
    found = [
        {
            "table_id": row.table_id,
            "key": row.key,
            "lsn": str(row.at),
            "reason": row.reason,
            "row": dict(row.values),
            "conflict": row.conflict,
        }
        for row in rows
    ]
    for some in _batches(found):
        cursor.execute(_PUT, [channel, json.dumps(some)])


def _batches(found: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (found[at : at + _AT_ONCE] for at in range(0, len(found), _AT_ONCE))
