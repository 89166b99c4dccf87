"""This part of the repository stores channels, their tables and positions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, bindparam, cast, delete, select, update

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.base import Base, insert_new, upsert
from airflow_ddlrepl.repository.stored.health_tables import OF_HEALTH
from airflow_ddlrepl.repository.stored.rows import ChannelRow, ChannelState, EnrolledState, TableRow
from airflow_ddlrepl.repository.stored.tables import OF_A_CHANNEL, channels, locks, positions, source_records, tables

CAPTURED, CUT_OVER = "captured", "cut over"
_CHANNEL = select(channels).where(channels.c.name == bindparam("name"))
_POSITION = select(positions.c.lsn).where(
    positions.c.channel == bindparam("channel"), positions.c.kind == bindparam("kind")
)


class Channels(Base):
    """This part of the repository stores channels, their tables and positions."""

    def ensure_channel(self, name: str, fingerprint: str) -> ChannelRow:
        """Return the channel's row, and make it where there is none.

        The fingerprint of an existing row does not change: compare it, then call set_state.
        """
        with self._database.write() as connection:
            now = self._database.now(connection)
            insert_new(connection, locks, {"channel": name, "token": 0, "next_epoch": 1})
            epoch = connection.execute(select(locks.c.next_epoch).where(locks.c.channel == name)).scalar_one()
            values = {"name": name, "fingerprint": fingerprint, "state": ChannelState.NEW, "epoch": epoch}
            insert_new(connection, channels, {**values, "created": now, "updated": now})
            return _channel(connection.execute(_CHANNEL, {"name": name}).one())

    def channel(self, name: str) -> ChannelRow | None:
        """Return the channel's row, None when the repository doesn't know it."""
        with self._database.read() as connection:
            row = connection.execute(_CHANNEL, {"name": name}).first()
            return _channel(row) if row else None

    def channel_and_position(self, name: str) -> tuple[ChannelRow | None, Position | None]:
        """Return the channel's row and its captured position, each None when it is not known."""
        with self._database.read() as connection:
            row = connection.execute(_CHANNEL, {"name": name}).first()
            lsn = connection.execute(_POSITION, {"channel": name, "kind": CAPTURED}).scalar()
            return _channel(row) if row else None, None if lsn is None else Position(lsn)

    def channels(self) -> list[ChannelRow]:
        """Return every channel, by name."""
        with self._database.read() as connection:
            return [_channel(row) for row in connection.execute(select(channels).order_by(channels.c.name))]

    def set_state(self, channel: str, token: int, state: ChannelState, fingerprint: str | None = None) -> None:
        """Move the channel to a state; with a fingerprint, also store which channel file it was activated with."""
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            values: dict[str, Any] = {"state": state, "updated": now}
            if state is ChannelState.ACTIVE:
                values["activated"] = now
            if fingerprint is not None:
                values["fingerprint"] = fingerprint
            connection.execute(update(channels).where(channels.c.name == channel).values(**values))

    def cut_over(self, channel: str, token: int, position: Position) -> None:
        """Store that applications use the targets, which have the source's log up to a position."""
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            key = {"channel": channel, "kind": CUT_OVER}
            upsert(connection, positions, key, {"lsn": int(position), "updated": now})
            values = {"state": ChannelState.CUT_OVER, "updated": now}
            connection.execute(update(channels).where(channels.c.name == channel).values(**values))

    def cut_over_at(self, channel: str) -> tuple[Position, datetime] | None:
        """Return where in the log and when the channel was cut over; None: it is not."""
        query = select(positions.c.lsn, positions.c.updated).join(channels, channels.c.name == positions.c.channel)
        query = query.where(channels.c.name == channel, channels.c.state == ChannelState.CUT_OVER)
        with self._database.read() as connection:
            row = connection.execute(query.where(positions.c.kind == CUT_OVER)).first()
            return (Position(row.lsn), row.updated) if row else None

    def claim_source(self, channel: str, token: int, source: str) -> None:
        """Bind the channel to the source database that it reads.

        Raises RepositoryError REP-107 when it is active with another database.
        """
        with self._fenced(channel, token) as connection:
            here = channels.c.name == channel
            known = connection.execute(select(channels.c.source).where(here)).scalar()
            is_active = select(positions.c.lsn).where(positions.c.channel == channel, positions.c.kind == CAPTURED)
            if known is None or connection.execute(is_active).first() is None:
                connection.execute(update(channels).where(here).values(source=source))
            elif known != source:
                raise RepositoryError(
                    f"channel {channel} of this repository reads another database ({known}) than its location names"
                    f" now ({source}, as server/database)",
                    code="REP-107",
                    hint="give the other database's channel another name or repository. If it is the same one on an"
                    " upgraded server: `ddlrepl activate --accept server`. If it was created again:"
                    " `ddlrepl deactivate`, then `ddlrepl activate`, which loads its tables again",
                )

    def set_explained_catalog(self, channel: str, token: int, explained: str) -> None:
        """Store which catalog of the source a capture has just found to be explained by the log."""
        with self._fenced(channel, token) as connection:
            connection.execute(update(channels).where(channels.c.name == channel).values(explained=explained))

    def set_log_identity(self, channel: str, token: int, server: str, log_identity: str) -> None:
        """Store whose log the channel captures: its identity, and the run of the server that reported it."""
        with self._fenced(channel, token) as connection:
            values = {"server": server, "lineage": log_identity}
            connection.execute(update(channels).where(channels.c.name == channel).values(**values))

    def set_feed(self, channel: str, token: int, feed_id: int | None) -> None:
        """Store the id of what the source publishes and is captured from now on; None: the source knows it."""
        with self._fenced(channel, token) as connection:
            connection.execute(update(channels).where(channels.c.name == channel).values(publication=feed_id))

    def source_record(self, channel: str) -> str | None:
        """Return what the last capture found at the source, as JSON text; None: no capture has told it yet."""
        with self._database.read() as connection:
            query = select(cast(source_records.c.content, Text)).where(source_records.c.channel == channel)
            found: str | None = connection.execute(query).scalar()
            return found

    def set_source_record(self, channel: str, token: int, content: dict[str, Any]) -> None:
        """Store what a capture has found at the source, instead of what an earlier one has."""
        with self._fenced(channel, token) as connection:
            values = {"content": content, "updated": self._database.now(connection)}
            upsert(connection, source_records, {"channel": channel}, values)

    def delete_channel(self, channel: str, token: int) -> None:
        """Delete the channel; its token and epoch go on growing when a channel of that name comes back."""
        with self._fenced(channel, token) as connection:
            epoch = connection.execute(select(channels.c.epoch).where(channels.c.name == channel)).scalar()
            if epoch is not None:
                where = locks.c.channel == channel
                connection.execute(update(locks).where(where).values(next_epoch=epoch + 1))
            for table in (*OF_A_CHANNEL, *OF_HEALTH):
                connection.execute(delete(table).where(table.c.channel == channel))
            connection.execute(delete(channels).where(channels.c.name == channel))

    def tables(self, channel: str) -> list[TableRow]:
        """Return the channel's tables under their newest names, dropped ones too."""
        query = select(tables).where(tables.c.channel == channel).order_by(tables.c.schema_name, tables.c.table_name)
        with self._database.read() as connection:
            return [_table(row) for row in connection.execute(query)]

    def captured(self, channel: str) -> Position | None:
        """Return the position before which everything is in the trail; None before activation."""
        return self.position(channel, CAPTURED)

    def position(self, channel: str, kind: str) -> Position | None:
        """Return a named position of the channel, None when it was never set."""
        with self._database.read() as connection:
            lsn = connection.execute(_POSITION, {"channel": channel, "kind": kind}).scalar()
            return None if lsn is None else Position(lsn)

    def positions(self, channel: str) -> dict[str, Position]:
        """Return all named positions of the channel."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(positions).where(positions.c.channel == channel).order_by(positions.c.kind)
            )
            return {row.kind: Position(row.lsn) for row in rows}

    def set_position(self, channel: str, token: int, kind: str, lsn: Position) -> None:
        """Move a position forward; raise RepositoryError REP-102 when it would go back."""
        with self._fenced(channel, token) as connection:
            advance(connection, channel, kind, lsn, self._database.now(connection))


def advance(connection: Connection, channel: str, kind: str, lsn: Position, now: Any) -> None:
    """Move a position forward inside a fenced transaction; raise RepositoryError REP-102 when it would go back."""
    before = connection.execute(_POSITION, {"channel": channel, "kind": kind}).scalar()
    if before is not None and lsn < before:
        raise RepositoryError(
            f"position {kind} of channel {channel} would go back from {Position(before)} to {lsn}",
            code="REP-102",
            at=lsn,
            hint="nothing was written; run again: a run starts from the stored position",
        )
    upsert(connection, positions, {"channel": channel, "kind": kind}, {"lsn": int(lsn), "updated": now})


def mark_table(connection: Connection, channel: str, table_id: int, state: EnrolledState, now: Any) -> None:
    """Set one table's state inside a fenced transaction."""
    where = (tables.c.channel == channel) & (tables.c.table_id == table_id)
    connection.execute(update(tables).where(where).values(state=EnrolledState(state), updated=now))


def _channel(row: Any) -> ChannelRow:
    state, log_identity = ChannelState(row.state), row.lineage or ""
    made = (row.epoch, row.created, row.activated)
    return ChannelRow(
        row.name, row.fingerprint, state, *made, row.explained or "", row.server, log_identity, row.publication
    )


def _table(row: Any) -> TableRow:
    return TableRow(row.table_id, TableName(row.schema_name, row.table_name), EnrolledState(row.state), row.updated)
