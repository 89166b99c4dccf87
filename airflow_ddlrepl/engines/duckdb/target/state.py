"""This module stores a channel's state in a DuckDB file: its position, its tables and what is left for the repository.

All of it is written in the transactions that change the tables, so it is never ahead of them nor behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.target_state import CutOver, Fence, TargetPosition, TargetState
from airflow_ddlrepl.errors import Fenced, TargetError
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record, from_json, to_json
from airflow_ddlrepl.model.table_state import TableState, TableStatus

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

SCHEMA = "ddlrepl"
VERSION = 1
"""The version of our tables in a file: it grows when an older version of the product must not write to them."""
_CREATE = """
CREATE SCHEMA IF NOT EXISTS ddlrepl;
CREATE TABLE IF NOT EXISTS ddlrepl.position (
    channel VARCHAR, lsn BIGINT, epoch BIGINT, token BIGINT, mark VARCHAR, version INTEGER, cut_over VARCHAR);
CREATE TABLE IF NOT EXISTS ddlrepl.tables (
    channel VARCHAR, table_id BIGINT, schema_name VARCHAR, table_name VARCHAR, status VARCHAR, state VARCHAR);
CREATE SEQUENCE IF NOT EXISTS ddlrepl.record_numbers;
CREATE TABLE IF NOT EXISTS ddlrepl.unrecorded (id BIGINT, channel VARCHAR, record VARCHAR);
CREATE TABLE IF NOT EXISTS ddlrepl.replayed_names (channel VARCHAR, schema_name VARCHAR, table_name VARCHAR);
CREATE TABLE IF NOT EXISTS ddlrepl.replayed (channel VARCHAR, made_as VARCHAR, lsn BIGINT);
"""
_POSITION = "SELECT lsn, epoch, token, mark, version, cut_over FROM ddlrepl.position WHERE channel = ?"
_LIVE = (TableStatus.LIVE, TableStatus.PENDING)


def create(connection: Connection) -> None:
    """Create our schema and its tables, where they do not exist."""
    connection.execute(_CREATE)


def is_there(connection: Connection, table: str = "position") -> bool:
    """Has the file our tables? table: the one that is looked for."""
    query = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'ddlrepl' AND table_name = ?"
    return bool(_rows(connection, query, [table])[0][0])


def find_position(connection: Connection, channel: str) -> TargetPosition | None:
    """Return the target's position; None when it was never prepared for the channel. Raises TargetError TGT-108."""
    found = _rows(connection, _POSITION, [channel]) if is_there(connection) else []
    if not found:
        return None
    lsn, epoch, token, mark, version, _ = found[0]
    if version > VERSION:
        raise TargetError(
            f"our tables in the DuckDB file are of a newer version (they are at {version}, ours at {VERSION})",
            code="TGT-108",
            hint="install that version of airflow-ddlrepl here, too",
        )
    return TargetPosition(Position(lsn), epoch, token, Mark.parse(mark) if mark else None)


def find_state(connection: Connection, channel: str) -> TargetState | None:
    """Return the state that the target has of the channel; None when it was never prepared for it."""
    at = find_position(connection, channel)
    if at is None:
        return None
    return TargetState(at.lsn, at.epoch, at.token, table_states(connection, channel), mark=at.mark)


def table_states(connection: Connection, channel: str) -> dict[int, TableState]:
    """Return the state of each of the channel's tables, by id."""
    rows = _rows(connection, "SELECT state FROM ddlrepl.tables WHERE channel = ? ORDER BY table_id", [channel])
    states = [TableState.from_json(json.loads(text)) for (text,) in rows]
    return {one.table_id: one for one in states}


def shape_texts(connection: Connection, name: TableName) -> list[str]:
    """Return the states, of any channel, of the live tables that have this name, as texts."""
    query = "SELECT state FROM ddlrepl.tables WHERE schema_name = ? AND table_name = ? ORDER BY status = 'live'"
    return [text for (text,) in _rows(connection, query, [*name])] if is_there(connection) else []


def begin(connection: Connection, channel: str, lsn: Position, fence: Fence) -> None:
    """Write the channel's position in the open transaction, if the target has none."""
    if not _rows(connection, _POSITION, [channel]):
        row = [channel, int(lsn), fence.epoch, fence.token, None, VERSION, None]
        connection.execute("INSERT INTO ddlrepl.position VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def restart(connection: Connection, channel: str, lsn: Position, fence: Fence) -> None:
    """Begin again at this position, whatever the state is; what is left for the repository is forgotten."""
    connection.execute(
        "UPDATE ddlrepl.position SET lsn = ?, epoch = ?, token = ?, mark = NULL WHERE channel = ?",
        [int(lsn), fence.epoch, fence.token, channel],
    )
    connection.execute("DELETE FROM ddlrepl.unrecorded WHERE channel = ?", [channel])


def hold(connection: Connection, channel: str, fence: Fence) -> None:
    """Refuse the writes of earlier runs from the open transaction on. Raises Fenced LCK-102."""
    _move(connection, "token = ?", "channel = ? AND epoch = ? AND token <= ?", fence, [fence.token], channel)


def claim(connection: Connection, channel: str, fence: Fence) -> None:
    """Do `hold`, and store the mark of the newest capture."""
    hold(connection, channel, fence)
    connection.execute(
        "UPDATE ddlrepl.position SET mark = coalesce(?, mark), version = greatest(version, ?) WHERE channel = ?",
        [fence.mark.to_text() if fence.mark else None, VERSION, channel],
    )


def advance(connection: Connection, channel: str, low: Position, high: Position, fence: Fence) -> None:
    """Move the position from low to high in the open transaction.

    Raises Fenced LCK-102 when the target is at another position or a newer run has been here.
    """
    where = f"channel = ? AND epoch = ? AND token <= ? AND lsn = {int(low)}"
    _move(connection, "lsn = ?, token = ?", where, fence, [int(high), fence.token], channel)


def _move(connection: Connection, change: str, where: str, fence: Fence, values: list[Any], channel: str) -> None:
    update = f"UPDATE ddlrepl.position SET {change} WHERE {where}"
    if _rows(connection, update, [*values, channel, fence.epoch, fence.token])[0][0] != 1:
        raise Fenced(
            f"another run of channel {channel} has been at this target",
            code="LCK-102",
            hint="nothing was written; run again: a run starts from the position that the target has",
            retryable=True,
        )


def write_table_states(
    connection: Connection, channel: str, states: Mapping[int, TableState], gone: Iterable[int] = ()
) -> None:
    """Write table states, in the open transaction; gone: those that the target has dropped.

    An orphaned table whose name a live one has now is forgotten: it was used again, or renamed.
    """
    removed = [*states, *gone]
    if not removed:
        return
    connection.execute(
        "DELETE FROM ddlrepl.tables WHERE channel = ? AND list_contains(?, table_id)", [channel, removed]
    )
    rows = [[channel, one.table_id, *one.name, one.state.value, json.dumps(one.to_json())] for one in states.values()]
    if rows:
        connection.executemany("INSERT INTO ddlrepl.tables VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.execute(
        "DELETE FROM ddlrepl.tables AS k WHERE channel = ? AND status = ? AND EXISTS (SELECT 1 FROM ddlrepl.tables l"
        " WHERE l.channel = k.channel AND l.schema_name = k.schema_name AND l.table_name = k.table_name"
        " AND list_contains(?, l.status))",
        [channel, TableStatus.ORPHANED.value, [one.value for one in _LIVE]],
    )
    if is_there(connection, "discarded_rows"):
        connection.execute(
            "DELETE FROM ddlrepl.discarded_rows AS d WHERE channel = ? AND NOT EXISTS (SELECT 1 FROM ddlrepl.tables t"
            " WHERE t.channel = d.channel AND t.table_id = d.table_id AND t.status <> ?)",
            [channel, TableStatus.ORPHANED.value],
        )


def write_records(connection: Connection, channel: str, records: Sequence[Record]) -> None:
    """Write records for the repository, in this order, in the open transaction."""
    rows = [[channel, json.dumps(to_json(record))] for record in records]
    if rows:
        connection.executemany("INSERT INTO ddlrepl.unrecorded VALUES (nextval('ddlrepl.record_numbers'), ?, ?)", rows)


def outbox_records(connection: Connection, channel: str) -> list[tuple[int, Record]]:
    """Return the records for the repository, oldest first, each with the number that `remove` takes."""
    rows = _rows(connection, "SELECT id, record FROM ddlrepl.unrecorded WHERE channel = ? ORDER BY id", [channel])
    return [(number, from_json(json.loads(text))) for number, text in rows]


def remove(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove records that the repository has, by their numbers."""
    connection.execute("DELETE FROM ddlrepl.unrecorded WHERE list_contains(?, id)", [list(numbers)])


def find_cut_over(connection: Connection, channel: str) -> CutOver | None:
    """Return the mark that applications use this target; None: there is none."""
    found = _rows(connection, _POSITION, [channel]) if is_there(connection) else []
    text = found[0][5] if found else None
    if text is None:
        return None
    position, since = json.loads(text)
    return CutOver(Position(position), datetime.fromisoformat(since))


def store_cut_over(connection: Connection, channel: str, mark: CutOver | None) -> None:
    """Store the mark in the open transaction, or remove it."""
    text = json.dumps([int(mark.position), mark.since.isoformat()]) if mark else None
    connection.execute("UPDATE ddlrepl.position SET cut_over = ? WHERE channel = ?", [text, channel])


def forget(connection: Connection, channel: str) -> None:
    """Remove the channel's state in the open transaction; the tables stay."""
    for table in ("position", "tables", "unrecorded", "replayed_names", "replayed", "discarded_rows"):
        if is_there(connection, table):
            connection.execute(f"DELETE FROM ddlrepl.{table} WHERE channel = ?", [channel])


def _rows(connection: Connection, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.execute(query, list(values)).fetchall()
    return found
