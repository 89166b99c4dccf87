"""This module stores which rows of the source a DuckDB file does not have, because its columns can't hold a value.

A row is written and removed in the transaction that changes its table.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardedRows
from airflow_ddlrepl.engines.duckdb.target.state import is_there
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.position import Position

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget

_TABLE = "discarded_rows"
_CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.discarded_rows (channel VARCHAR, table_id BIGINT, key VARCHAR[], lsn BIGINT,
    reason VARCHAR, "row" VARCHAR, discarded_at TIMESTAMP);
"""


@dataclass(frozen=True, slots=True)
class DuckDiscardedRows(DiscardedRows):
    """These are the discarded rows of one channel in a DuckDB file."""

    target: DuckTarget

    def counts(self) -> Mapping[int, int]:
        return {int(i): int(n) for i, n in self._ask("table_id, count(*)", "GROUP BY table_id")}

    def keys(self, table_id: int) -> frozenset[tuple[str, ...]]:
        return frozenset(tuple(key) for (key,) in self._ask("key", "AND table_id = ?", table_id))

    def all_of(self, table_id: int) -> list[DiscardedRow]:
        return self._rows("AND table_id = ?", table_id)

    def conflicts(self) -> dict[int, dict[str, int]]:
        return {}

    def newest(self, most: int) -> list[DiscardedRow]:
        return self._rows("ORDER BY discarded_at DESC, table_id, key LIMIT ?", most)

    def _rows(self, which: str, *values: Any) -> list[DiscardedRow]:
        columns = 'table_id, key, reason, "row", lsn, discarded_at'
        return [
            DiscardedRow(number, tuple(key), why, json.loads(row), Position(at), since.replace(tzinfo=UTC))
            for number, key, why, row, at, since in self._ask(columns, which, *values)
        ]

    def _ask(self, columns: str, which: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self.target.is_there:
            return []
        with self.target.session(is_reader=True) as connection:
            if not is_there(connection, _TABLE):
                return []
            query = f"SELECT {columns} FROM ddlrepl.{_TABLE} WHERE channel = ? {which}"
            found: list[tuple[Any, ...]] = connection.execute(query, [self.target.holder, *values]).fetchall()
        return found


def replace_rows(
    connection: Connection, channel: str, table_id: int, keys: Collection[tuple[str, ...]], rows: Sequence[DiscardedRow]
) -> None:
    """Remove the rows of these keys of a table, and add others, in the open transaction."""
    gone = {*keys, *(row.key for row in rows)}
    if not gone:
        return
    connection.execute(_CREATE)
    which = "channel = ? AND table_id = ? AND list_contains(CAST(? AS VARCHAR[][]), key)"
    values = [channel, table_id, [list(key) for key in gone]]
    connection.execute(f"DELETE FROM ddlrepl.{_TABLE} WHERE {which}", values)
    _add(connection, channel, rows)


def clear(connection: Connection, channel: str, table_ids: Iterable[int]) -> None:
    """Remove all rows of these tables, in the open transaction."""
    if is_there(connection, _TABLE):
        query = f"DELETE FROM ddlrepl.{_TABLE} WHERE channel = ? AND list_contains(?, table_id)"
        connection.execute(query, [channel, list(table_ids)])


def placed(connection: Connection, channel: str, table_id: int, rows: Sequence[DiscardedRow]) -> None:
    """Replace the rows of a table by those that its load has discarded, in the open transaction."""
    clear(connection, channel, [table_id])
    if rows:
        connection.execute(_CREATE)
        _add(connection, channel, rows)


def _add(connection: Connection, channel: str, rows: Sequence[DiscardedRow]) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    found = [
        [channel, row.table_id, list(row.key), int(row.at), row.reason, json.dumps(dict(row.values)), now]
        for row in rows
    ]
    if found:
        connection.executemany(f"INSERT INTO ddlrepl.{_TABLE} VALUES (?, ?, ?, ?, ?, ?, ?)", found)
