"""This module stores a channel's state beside a lake's catalog: position, tables, what is left for the repository.

All of it is written in the transaction that moves the pointers of tables, so it is never ahead of them nor behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, delete, exists, insert, select, update

from airflow_ddlrepl.engines.lake.target.tables import (
    SCHEMA,
    VERSION,
    discarded_rows,
    is_there,
    position,
    tables,
    unrecorded,
)
from airflow_ddlrepl.engines.target_state import CutOver, Fence, Move, TargetPosition, TargetState
from airflow_ddlrepl.errors import Fenced, TargetError
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import Record, from_json, to_json
from airflow_ddlrepl.model.table_state import TableState, TableStatus

_LIVE = (TableStatus.LIVE.value, TableStatus.PENDING.value)
_MOST = 500
"""So many values a statement takes at once."""


def find_position(connection: Connection, channel: str) -> TargetPosition | None:
    """Return the target's position; None when it was never prepared for the channel. Raises TargetError TGT-108."""
    if not is_there(connection):
        return None
    found = connection.execute(select(position).where(position.c.channel == channel)).first()
    if found is None:
        return None
    if found.version > VERSION:
        raise TargetError(
            f"our tables in the lake's catalog are of a newer version (they are at {found.version}, ours at {VERSION})",
            code="TGT-108",
            hint="install that version of airflow-ddlrepl here, too",
        )
    return TargetPosition(Position(found.lsn), found.epoch, found.token, Mark.parse(found.mark) if found.mark else None)


def find_state(connection: Connection, channel: str) -> TargetState | None:
    """Return the state that the target has of the channel; None when it was never prepared for it."""
    at = find_position(connection, channel)
    if at is None:
        return None
    return TargetState(at.lsn, at.epoch, at.token, table_states(connection, channel), mark=at.mark)


def table_states(connection: Connection, channel: str) -> dict[int, TableState]:
    """Return the state of each of the channel's tables, by id."""
    query = select(tables.c.state).where(tables.c.channel == channel).order_by(tables.c.table_id)
    states = [TableState.from_json(json.loads(text)) for (text,) in connection.execute(query)]
    return {one.table_id: one for one in states}


def tree_states(connection: Connection, channel: str) -> list[TableState]:
    """Return the states of the channel's partitioned tables and of their partitions."""
    has_part = tables.c.state.not_like('%"partition": null%') | tables.c.state.not_like('%"partition_key": null%')
    query = select(tables.c.state).where(tables.c.channel == channel, has_part).order_by(tables.c.table_id)
    states = [TableState.from_json(json.loads(text)) for (text,) in connection.execute(query)]
    return [one for one in states if one.shape.is_partitioned or one.shape.partition is not None]


def states_with_names(connection: Connection, channel: str, names: Sequence[TableName]) -> list[TableState]:
    """Return the states of the channel's tables that have one of these names."""
    found = []
    for start in range(0, len(names), _MOST):
        some = {one.name for one in names[start : start + _MOST]}
        query = select(tables.c.state).where(tables.c.channel == channel, tables.c.table_name.in_(some))
        found += [TableState.from_json(json.loads(text)) for (text,) in connection.execute(query)]
    return [one for one in found if one.name in names]


def states_named(connection: Connection, name: TableName) -> list[TableState]:
    """Return the states, of any channel, of the tables that have this name; live ones last."""
    if not is_there(connection):
        return []
    same = and_(tables.c.schema_name == name.schema, tables.c.table_name == name.name)
    query = select(tables.c.state).where(same).order_by(tables.c.status == TableStatus.LIVE.value)
    return [TableState.from_json(json.loads(text)) for (text,) in connection.execute(query)]


def begin(connection: Connection, channel: str, lsn: Position, fence: Fence) -> None:
    """Write the channel's position in the open transaction, if the target has none."""
    if find_position(connection, channel) is None:
        row = {"channel": channel, "lsn": int(lsn), "epoch": fence.epoch, "token": fence.token, "version": VERSION}
        connection.execute(insert(position), [row])


def restart(connection: Connection, channel: str, lsn: Position, fence: Fence) -> None:
    """Begin again at this position, whatever the state is; what is left for the repository is forgotten."""
    values = {"lsn": int(lsn), "epoch": fence.epoch, "token": fence.token, "mark": None}
    connection.execute(update(position).where(position.c.channel == channel).values(**values))
    connection.execute(delete(unrecorded).where(unrecorded.c.channel == channel))


def hold(connection: Connection, channel: str, fence: Fence) -> None:
    """Refuse the writes of earlier runs from the open transaction on. Raises Fenced LCK-102."""
    _move(connection, channel, fence, {"token": fence.token})


def claim(connection: Connection, channel: str, fence: Fence) -> None:
    """Do `hold`, and store the mark of the newest capture."""
    hold(connection, channel, fence)
    values = {"mark": fence.mark.to_text()} if fence.mark else {}
    newest = case((position.c.version > VERSION, position.c.version), else_=VERSION)
    connection.execute(update(position).where(position.c.channel == channel).values(version=newest, **values))


def advance(connection: Connection, channel: str, low: Position, high: Position, fence: Fence) -> None:
    """Move the position from low to high in the open transaction.

    Raises Fenced LCK-102 when the target is at another position or a newer run has been here.
    """
    _move(connection, channel, fence, {"lsn": int(high), "token": fence.token}, position.c.lsn == int(low))


def _move(
    connection: Connection, channel: str, fence: Fence, values: Mapping[str, Any], *more: ColumnElement[bool]
) -> None:
    where = (position.c.channel == channel, position.c.epoch == fence.epoch, position.c.token <= fence.token, *more)
    if connection.execute(update(position).where(*where).values(**values)).rowcount != 1:
        raise Fenced(
            f"another run of channel {channel} has been at this target",
            code="LCK-102",
            hint="nothing was written; run again: a run starts from the position that the target has",
            retryable=True,
        )


def move(connection: Connection, channel: str, to: Move | None, fence: Fence) -> None:
    """Move the position as a change of the state says, in the open transaction; None: it stays."""
    if to is None:
        hold(connection, channel, fence)
    elif to.since is None:
        begin(connection, channel, to.to, fence)
        if to.restarts:
            restart(connection, channel, to.to, fence)
    else:
        since = Fence(to.since.epoch, fence.token)
        hold(connection, channel, since)
        if to.restarts:
            restart(connection, channel, to.to, fence)
        elif to.since.lsn != to.to:
            advance(connection, channel, to.since.lsn, to.to, since)


def write_table_states(
    connection: Connection, channel: str, states: Mapping[int, TableState], gone: Iterable[int] = ()
) -> None:
    """Write table states, in the open transaction; gone: those that the target has dropped.

    An orphaned table whose name a live one has now is forgotten: it was used again, or renamed.
    """
    removed = [*states, *gone]
    if not removed:
        return
    of_channel = tables.c.channel == channel
    for start in range(0, len(removed), _MOST):
        connection.execute(delete(tables).where(of_channel, tables.c.table_id.in_(removed[start : start + _MOST])))
    rows = [_row(channel, one) for one in states.values()]
    if rows:
        connection.execute(insert(tables), rows)
    live = tables.alias("live")
    same = and_(live.c.schema_name == tables.c.schema_name, live.c.table_name == tables.c.table_name)
    taken = exists().where(live.c.channel == channel, live.c.status.in_(_LIVE), same)
    connection.execute(delete(tables).where(of_channel, tables.c.status == TableStatus.ORPHANED.value, taken))
    if is_there(connection, discarded_rows):
        is_there_still = exists().where(
            tables.c.channel == discarded_rows.c.channel,
            tables.c.table_id == discarded_rows.c.table_id,
            tables.c.status != TableStatus.ORPHANED.value,
        )
        connection.execute(delete(discarded_rows).where(discarded_rows.c.channel == channel, ~is_there_still))


def _row(channel: str, one: TableState) -> dict[str, Any]:
    return {
        "channel": channel,
        "table_id": one.table_id,
        "schema_name": one.name.schema,
        "table_name": one.name.name,
        "status": one.state.value,
        "state": json.dumps(one.to_json()),
    }


def write_records(connection: Connection, channel: str, records: Sequence[Record]) -> None:
    """Write records for the repository, in this order, in the open transaction."""
    rows = [{"channel": channel, "record": json.dumps(to_json(record))} for record in records]
    if rows:
        connection.execute(insert(unrecorded), rows)


def outbox_records(connection: Connection, channel: str) -> list[tuple[int, Record]]:
    """Return the records for the repository, oldest first, each with the number that `remove` takes."""
    if not is_there(connection):
        return []
    query = select(unrecorded.c.id, unrecorded.c.record).where(unrecorded.c.channel == channel).order_by("id")
    return [(number, from_json(json.loads(text))) for number, text in connection.execute(query)]


def remove(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove records that the repository has, by their numbers."""
    for start in range(0, len(numbers), _MOST):
        connection.execute(delete(unrecorded).where(unrecorded.c.id.in_(numbers[start : start + _MOST])))


def find_cut_over(connection: Connection, channel: str) -> CutOver | None:
    """Return the mark that applications use this target; None: there is none."""
    if not is_there(connection):
        return None
    text = connection.execute(select(position.c.cut_over).where(position.c.channel == channel)).scalar()
    if text is None:
        return None
    at, since = json.loads(text)
    return CutOver(Position(at), datetime.fromisoformat(since))


def store_cut_over(connection: Connection, channel: str, mark: CutOver | None) -> None:
    """Store the mark in the open transaction, or remove it."""
    text = json.dumps([int(mark.position), mark.since.isoformat()]) if mark else None
    connection.execute(update(position).where(position.c.channel == channel).values(cut_over=text))


def forget(connection: Connection, channel: str) -> None:
    """Remove the channel's state in the open transaction; the tables stay."""
    for one in SCHEMA.sorted_tables:
        if is_there(connection, one):
            connection.execute(delete(one).where(one.c.channel == channel))
