"""This module stores transactions that a PostgreSQL target refuses, whole, and gives them back in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import FailedTransaction, QueuedError
from airflow_ddlrepl.engines.postgres.target.apply_tables import ERRORS
from airflow_ddlrepl.errors import NotInErrorQueue
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.apply_message import ApplyMessage

_AT_ONCE = 2_000
"""So many messages are read in one statement."""
_COLUMNS = """
id, client, feed, lsn::text, xid, committed, source_database, code, error, failed, messages, tries, created
"""
_ADD = """
INSERT INTO ddlrepl.apply_errors
    (channel, client, feed, lsn, xid, committed, source_database, code, error, failed, messages)
VALUES (%s, %s, %s, %s::pg_lsn, %s, %s, %s, %s, %s, %s, 0) RETURNING id
"""
_COPY = "COPY ddlrepl.apply_error_messages (id, number, message, shape_of, shape) FROM STDIN"


def errors(connection: Any, channel: str, client: str = "") -> list[QueuedError]:
    """Return the error queue in the order of the commits. client: only this one's."""
    if not ERRORS.is_there(connection):
        return []
    query = (
        f"SELECT {_COLUMNS} FROM ddlrepl.apply_errors WHERE channel = %s AND %s IN ('', client)"
        " ORDER BY committed, feed, lsn, id"
    )
    return [_error(row) for row in connection.execute(query.encode(), [channel, client]).fetchall()]


def store(cursor: Any, channel: str, client: str, failed: FailedTransaction, messages: Iterable[ApplyMessage]) -> int:
    """Store a transaction and return its number, in the open transaction. Messages are sent as they come."""
    cursor.execute(
        _ADD,
        [
            channel,
            client,
            failed.feed,
            str(failed.lsn),
            failed.transaction_id,
            failed.committed,
            failed.source_database,
            failed.code,
            failed.error,
            failed.number,
        ],
    )
    number = int(cursor.fetchone()[0])
    count = 0
    shapes: dict[int, tuple[Table, int]] = {}
    with cursor.copy(_COPY.encode()) as copy:
        for one in messages:
            shape, known = one.shape, None
            if shape is not None:
                known = shapes.setdefault(id(shape), (shape, count))[1]
            whole = json.dumps(shape.to_json()) if shape is not None and known == count else None
            copy.write_row((number, count, json.dumps(one.to_json()), known, whole))
            count += 1
    cursor.execute("UPDATE ddlrepl.apply_errors SET messages = %s WHERE id = %s", [count, number])
    reach("apply.error_stored")
    return number


def take(cursor: Any, channel: str, number: int) -> QueuedError:
    """Lock a transaction of the error queue in the open transaction. Raises NotInErrorQueue APL-112."""
    found = None
    if ERRORS.is_there(cursor.connection):
        query = f"SELECT {_COLUMNS} FROM ddlrepl.apply_errors WHERE channel = %s AND id = %s FOR UPDATE"
        found = cursor.execute(query.encode(), [channel, number]).fetchone()
    if found is None:
        raise unknown(number)
    return _error(found)


def messages(connection: Any, channel: str, number: int, at_once: int = _AT_ONCE) -> Iterator[ApplyMessage]:
    """Yield the messages of a transaction in the error queue, in order, read by so many at once."""
    query = (
        "SELECT m.number, m.message, m.shape_of, m.shape FROM ddlrepl.apply_error_messages m"
        " JOIN ddlrepl.apply_errors e ON e.id = m.id"
        " WHERE e.channel = %s AND m.id = %s AND m.number > %s ORDER BY m.number LIMIT %s"
    )
    shapes: dict[int, Table] = {}
    last = -1
    while rows := connection.execute(query, [channel, number, last, at_once]).fetchall():
        for _, message, shape_of, shape in rows:
            if shape is not None:
                shapes[shape_of] = Table.from_json(shape)
            yield ApplyMessage.from_json(message, shapes.get(shape_of) if shape_of is not None else None)
        last = rows[-1][0]


def delete(cursor: Any, number: int) -> None:
    """Remove a transaction, in the open transaction."""
    cursor.execute("DELETE FROM ddlrepl.apply_error_messages WHERE id = %s", [number])  # cascades may be off here
    cursor.execute("DELETE FROM ddlrepl.apply_errors WHERE id = %s", [number])


def failed_again(cursor: Any, number: int, failed: FailedTransaction) -> None:
    """Store the error of another try, in the open transaction."""
    cursor.execute(
        "UPDATE ddlrepl.apply_errors SET code = %s, error = %s, failed = %s, tries = tries + 1 WHERE id = %s",
        [failed.code, failed.error, failed.number, number],
    )


def unknown(number: int) -> NotInErrorQueue:
    """Return the error for a number that no transaction of the error queue has."""
    return NotInErrorQueue(
        f"there is no transaction {number} in the error queue",
        code="APL-112",
        hint="`ddlrepl errors list` prints the numbers; perhaps it was retried or deleted since",
    )


def _error(row: tuple[Any, ...]) -> QueuedError:
    number, client, feed, lsn, xid, committed, database, code, error, failed, count, tries, created = row
    what = FailedTransaction(feed, Position.parse(lsn), xid, committed, database, code, error, failed)
    return QueuedError(number, client, what, count, tries, created)
