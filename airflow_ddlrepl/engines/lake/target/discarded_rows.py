"""This module stores which rows of the source a lake does not have, because its columns can't hold a value.

A row is written and removed in the transaction that changes its table.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select

from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardedRows
from airflow_ddlrepl.engines.lake.target.tables import discarded_rows as stored
from airflow_ddlrepl.engines.lake.target.tables import is_there
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.position import Position

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget

_MOST = 500
"""So many values a statement takes at once."""


@dataclass(frozen=True, slots=True)
class LakeDiscardedRows(DiscardedRows):
    """These are the discarded rows of one channel in a lake."""

    target: LakeTarget

    def counts(self) -> Mapping[int, int]:
        found = self._ask(select(stored.c.table_id, func.count()).group_by(stored.c.table_id))
        return {int(one[0]): int(one[1]) for one in found}

    def keys(self, table_id: int) -> frozenset[tuple[str, ...]]:
        query = select(stored.c.row_key).where(stored.c.table_id == table_id)
        return frozenset(tuple(json.loads(one.row_key)) for one in self._ask(query))

    def all_of(self, table_id: int) -> list[DiscardedRow]:
        return self._rows(select(stored).where(stored.c.table_id == table_id))

    def conflicts(self) -> dict[int, dict[str, int]]:
        return {}

    def newest(self, most: int) -> list[DiscardedRow]:
        order = (stored.c.discarded_at.desc(), stored.c.table_id, stored.c.row_key)
        return self._rows(select(stored).order_by(*order).limit(most))

    def _rows(self, query: Select[Any]) -> list[DiscardedRow]:
        return [
            DiscardedRow(
                one.table_id,
                tuple(json.loads(one.row_key)),
                one.reason,
                json.loads(one.row_values),
                Position(one.lsn),
                datetime.fromisoformat(one.discarded_at),
            )
            for one in self._ask(query)
        ]

    def _ask(self, query: Select[Any]) -> Sequence[Any]:
        if not self.target.is_there:
            return []
        with self.target.reading() as connection:
            if not is_there(connection, stored):
                return []
            return connection.execute(query.where(stored.c.channel == self.target.holder)).all()


def replace_rows(
    connection: Connection, channel: str, table_id: int, keys: Collection[tuple[str, ...]], rows: Sequence[DiscardedRow]
) -> None:
    """Remove the rows of these keys of a table, and add others, in the open transaction."""
    gone = sorted({json.dumps(key) for key in (*keys, *(row.key for row in rows))})
    for start in range(0, len(gone), _MOST):
        which = (stored.c.table_id == table_id, stored.c.row_key.in_(gone[start : start + _MOST]))
        _remove(connection, channel, *which)
    _add(connection, channel, rows)


def clear(connection: Connection, channel: str, table_ids: Iterable[int]) -> None:
    """Remove all rows of these tables, in the open transaction."""
    _remove(connection, channel, stored.c.table_id.in_([*table_ids]))


def placed(connection: Connection, channel: str, table_id: int, rows: Sequence[DiscardedRow]) -> None:
    """Replace the rows of a table by those that its load has discarded, in the open transaction."""
    clear(connection, channel, [table_id])
    _add(connection, channel, rows)


def _remove(connection: Connection, channel: str, *which: ColumnElement[bool]) -> None:
    if is_there(connection, stored):
        connection.execute(delete(stored).where(stored.c.channel == channel, *which))


def _add(connection: Connection, channel: str, rows: Sequence[DiscardedRow]) -> None:
    if not rows:
        return
    now = datetime.now(UTC).isoformat()
    stored.create(connection, checkfirst=True)  # a lake of an earlier version lacks the table
    connection.execute(
        insert(stored),
        [
            {
                "channel": channel,
                "table_id": row.table_id,
                "row_key": json.dumps(row.key),
                "lsn": int(row.at),
                "reason": row.reason,
                "row_values": json.dumps(dict(row.values)),
                "discarded_at": now,
            }
            for row in rows
        ],
    )
