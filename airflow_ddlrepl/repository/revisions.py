"""This part of the repository stores revisions of tables, and captured segments with all that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import LAST_IN_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.stored import TableText
from airflow_ddlrepl.model.stored import stored as stored_table
from airflow_ddlrepl.model.visibility import stored_visibility
from airflow_ddlrepl.repository.base import Base, insert_new, insert_new_all, put_all, upsert
from airflow_ddlrepl.repository.channels import CAPTURED, advance, mark_table
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.health import count_rows
from airflow_ddlrepl.repository.stored.health_tables import captured_rows, counted_from
from airflow_ddlrepl.repository.stored.rows import EnrolledState, SegmentFacts
from airflow_ddlrepl.repository.stored.tables import channels, controls, events, positions, revisions, segments, tables

MOST_TOGETHER = 500  # tables of one query: databases limit the number of its parameters
_RAW = {"created": type_coerce(revisions.c.created, Text), "shape": cast(revisions.c.shape, Text)}
_ALL = {c.name: _RAW[c.name].label(c.name) if c.name in _RAW else c for c in revisions.c}
_MARK = [_ALL[name] for name in ("channel", "table_id", "number", "lsn", "seq", "created")]
_REST = [_ALL[name] for name in ("shape", "origin", "statement", "is_ambiguous", "xid", "seen")]
_ORIGINS = {str(origin): origin for origin in Origin}
_STAND = select(
    func.count(), func.sum(revisions.c.number), func.max(revisions.c.created), func.max(revisions.c.lsn)
).where(revisions.c.channel == bindparam("channel"))


class Revisions(Base):
    """This part of the repository stores revisions of tables, and adds captured segments."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._known: dict[tuple[Any, ...], Revision] = {}
        self._newest: dict[str, tuple[tuple[Any, ...] | None, dict[int, Revision]]] = {}
        self._whole: dict[str, tuple[tuple[Any, ...] | None, list[Revision]]] = {}

    def enroll(self, channel: str, token: int, found: Sequence[Revision], captured: Position | None = None) -> None:
        """Store revisions outside of a capture (activation); a revision that is stored already changes nothing.

        captured: also the position where capture starts. Raises RepositoryError REP-103 when a number is taken by
        another shape.
        """
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            self._store(connection, channel, found, now)
            if captured is not None:
                advance(connection, channel, CAPTURED, captured, now)

    def start_over(
        self, channel: str, token: int, found: Sequence[Revision], captured: Position, server: str, log_identity: str
    ) -> None:
        """Continue the channel at a position of another log than the one that was captured so far.

        The position may be an earlier one. A new epoch begins, so nothing of the trail is taken for the new log's.
        Shapes that were found later than the position are known from it on. Controls at positions of the old log are
        deleted.
        """
        with self._fenced(channel, token) as connection:
            here = channels.c.name == channel
            values = {"epoch": channels.c.epoch + 1, "server": server, "lineage": log_identity}
            connection.execute(update(channels).where(here).values(**values))
            for table in (positions, controls, captured_rows, counted_from):
                connection.execute(delete(table).where(table.c.channel == channel))
            later = (revisions.c.channel == channel) & (revisions.c.lsn >= int(captured) - 1)
            key = {"lsn": int(captured) - 1, "seq": LAST_IN_TRANSACTION, "xid": None, "seen": None}
            connection.execute(update(revisions).where(later).values(**key))
            now = self._database.now(connection)
            self._store(connection, channel, found, now)
            advance(connection, channel, CAPTURED, captured, now)

    def commit_segment(
        self,
        channel: str,
        token: int,
        segment: SegmentFacts,
        found: Sequence[Revision],
        captured: Position,
        *,
        states: Mapping[int, EnrolledState] | None = None,
        seen: Sequence[Event] = (),
    ) -> bool:
        """Store a captured window with all that follows from it in one transaction; return False when it is there.

        captured: the new position, at or after segment.high. states: tables to mark. seen: DDL, truncates, gaps.
        Raises RepositoryError REP-104 when the window doesn't start at the captured position, Fenced LCK-102.
        """
        with self._fenced(channel, token) as connection:
            if not _continues(connection, channel, segment):
                return False
            now = self._database.now(connection)
            values = {name: int(getattr(segment, name)) for name in ("epoch", "low", "high", "rows", "bytes", "files")}
            made = {"channel": channel, "token": token, "events": len(seen), "state": "live", "created": now}
            made["digest"] = segment.digest
            connection.execute(insert(segments).values(**values, **made))
            self._store(connection, channel, found, now)
            insert_new_all(connection, events, [_event_values(channel, segment.epoch, event) for event in seen])
            for table_id, state in (states or {}).items():
                mark_table(connection, channel, table_id, state, now)
            count_rows(connection, channel, segment)
            advance(connection, channel, CAPTURED, max(captured, segment.high), now)
            return True

    def revisions(self, channel: str, table_id: int | None = None) -> list[Revision]:
        """Return every revision of the channel, or one table's, by table and number."""
        here = revisions.c.channel == channel
        if table_id is not None:
            return self._read(lambda query: query.where(here, revisions.c.table_id == table_id))
        now = self._stand(channel)
        if self._whole.get(channel, (None, []))[0] != now:
            stand, newest = self._newest.get(channel, (None, {}))
            is_all = stand == now and len(newest) == now[0]  # each table has one revision
            self._whole[channel] = (now, [*newest.values()] if is_all else self._read(lambda query: query.where(here)))
        return list(self._whole[channel][1])

    def revisions_of(self, channel: str, table_ids: Collection[int]) -> dict[int, list[Revision]]:
        """Return every revision of these tables by table id, in order; thousands are read together."""
        found: dict[int, list[Revision]] = {table_id: [] for table_id in table_ids}
        ids = sorted(found)
        for low in range(0, len(ids), MOST_TOGETHER):
            here = (revisions.c.channel == channel) & revisions.c.table_id.in_(ids[low : low + MOST_TOGETHER])
            for revision in self._read(partial(_where, here)):
                found[revision.table_id].append(revision)
        return found

    def histories(self, channel: str) -> dict[int, list[Revision]]:
        """Return each table's revisions in order, by table id."""
        found: dict[int, list[Revision]] = {}
        for revision in self.revisions(channel):
            found.setdefault(revision.table_id, []).append(revision)
        return found

    def latest_revisions(self, channel: str) -> dict[int, Revision]:
        """Return each table's newest revision by table id; a dropped table's has no shape."""
        here, now = revisions.c.channel == channel, self._stand(channel)
        if self._newest.get(channel, (None, {}))[0] != now:
            newest = select(revisions.c.table_id, func.max(revisions.c.number).label("number"))
            top = newest.where(here).group_by(revisions.c.table_id).subquery()
            same = (revisions.c.table_id == top.c.table_id) & (revisions.c.number == top.c.number)
            found = self._read(lambda query: query.join(top, same).where(here))
            self._newest[channel] = (now, {revision.table_id: revision for revision in found})
        return dict(self._newest[channel][1])

    def _stand(self, channel: str) -> tuple[Any, ...]:
        """Return a value that changes whenever a revision was added, deleted or moved."""
        with self._database.read() as connection:
            return tuple(connection.execute(_STAND, {"channel": channel}).one())

    def _read(self, narrow: Callable[[Select[Any]], Select[Any]]) -> list[Revision]:
        """Return revisions by table and number; a stored revision never changes, so each is read once."""
        order = (revisions.c.table_id, revisions.c.number)
        with self._database.read() as connection:
            query = narrow(select(*_MARK)).order_by(*order)
            marks = [tuple(row) for row in connection.execute(query).all()] if self._known else None
            if marks is None or not self._known.keys() >= set(marks):
                query = narrow(select(*_MARK, *_REST)).order_by(*order)
                rows = [tuple(row) for row in connection.execute(query).all()]
                marks = [row[: len(_MARK)] for row in rows]
                for mark, row in zip(marks, rows, strict=True):
                    if mark not in self._known:
                        self._known[mark] = _revision(row)
        return [self._known[mark] for mark in marks]

    def _store(self, connection: Connection, channel: str, found: Sequence[Revision], now: datetime) -> None:
        if _are_new(connection, channel, found):
            _store_new(connection, channel, found, now)
            return
        for revision in found:
            row = {**_revision_values(channel, revision), "created": now}
            if not insert_new(connection, revisions, row):
                _must_equal(connection, channel, revision)
                continue
            key = {"channel": channel, "table_id": revision.table_id}
            if revision.table is None:
                mark_table(connection, channel, revision.table_id, EnrolledState.DROPPED, now)
            else:
                schema, name = revision.table.name
                upsert(
                    connection,
                    tables,
                    key,
                    {"schema_name": schema, "table_name": name, "state": EnrolledState.LIVE, "updated": now},
                )


def _where(condition: ColumnElement[bool], query: Select[Any]) -> Select[Any]:
    return query.where(condition)


def _are_new(connection: Connection, channel: str, found: Sequence[Revision]) -> bool:
    """Return whether each of these revisions comes after all that are stored of its table, and after those before it.

    Nobody stores others meanwhile: the transaction is fenced.
    """
    if not found:
        return True
    newest = select(revisions.c.table_id, func.max(revisions.c.number)).where(revisions.c.channel == channel)
    last = {row[0]: row[1] for row in connection.execute(newest.group_by(revisions.c.table_id))}
    for revision in found:
        if revision.number <= last.get(revision.table_id, -1):
            return False
        last[revision.table_id] = revision.number
    return True


def _store_new(connection: Connection, channel: str, found: Sequence[Revision], now: datetime) -> None:
    """Store revisions of which none is there, thousands by few statements."""
    if found:
        rows = [{**_revision_values(channel, revision), "created": now} for revision in found]
        connection.execute(insert(revisions), rows)
    states = {revision.table_id: revision.table for revision in found if revision.table is not None}
    live = {"channel": channel, "state": EnrolledState.LIVE, "updated": now}
    names = {i: {"schema_name": table.name.schema, "table_name": table.name.name} for i, table in states.items()}
    put_all(connection, tables, [{**live, "table_id": i, **name} for i, name in names.items()])
    ends = {revision.table_id: revision.table for revision in found}
    for table_id in (i for i, table in ends.items() if table is None):
        mark_table(connection, channel, table_id, EnrolledState.DROPPED, now)


def _continues(connection: Connection, channel: str, segment: SegmentFacts) -> bool:
    """Return True when the segment starts where the last one ended, False when it is stored already."""
    key = (segments.c.channel == channel) & (segments.c.epoch == segment.epoch) & (segments.c.low == int(segment.low))
    high = connection.execute(select(segments.c.high).where(key)).scalar()
    if high == segment.high:
        return False
    query = select(positions.c.lsn).where(positions.c.channel == channel, positions.c.kind == CAPTURED)
    captured = connection.execute(query).scalar()
    epoch = connection.execute(select(channels.c.epoch).where(channels.c.name == channel)).scalar()
    if high is not None or captured != segment.low or epoch != segment.epoch:
        position = "none" if captured is None else str(Position(captured))
        raise RepositoryError(
            f"window {segment.low} to {segment.high} (epoch {segment.epoch}) does not continue channel {channel}, "
            f"whose captured position is {position} (epoch {epoch})",
            code="REP-104",
            at=segment.low,
            hint="nothing was written; run again: a run starts from the stored position",
        )
    return True


def _must_equal(connection: Connection, channel: str, revision: Revision) -> None:
    where = (
        revisions.c.channel == channel,
        revisions.c.table_id == revision.table_id,
        revisions.c.number == revision.number,
    )
    stored = _revision(tuple(connection.execute(select(*_MARK, *_REST).where(*where)).one()))
    if (stored.key, stored.table) != (revision.key, revision.table):
        raise RepositoryError(
            f"revision {revision.number} of table {revision.table_id} is stored with another shape or position",
            code="REP-103",
            table=revision.table.name if revision.table else None,
            at=revision.key,
            hint="nothing was written; run again: a run numbers revisions from the stored ones",
        )


def _revision_values(channel: str, revision: Revision) -> dict[str, Any]:
    return {
        "channel": channel,
        "table_id": revision.table_id,
        "number": revision.number,
        "lsn": int(revision.key.lsn),
        "seq": revision.key.seq,
        "shape": TableText(revision.table) if revision.table else None,
        "origin": str(revision.origin),
        "statement": revision.statement,
        "is_ambiguous": revision.is_ambiguous,
        "xid": revision.transaction_id,
        "seen": str(revision.seen) if revision.seen else None,
    }


def _event_values(channel: str, epoch: int, event: Event) -> dict[str, Any]:
    ids = {table.id for table in event.tables} | {table_id for table_id, _ in event.dropped}
    return {
        "channel": channel,
        "epoch": epoch,
        "lsn": int(event.key.lsn),
        "seq": event.key.seq,
        "kind": str(event.kind),
        "tag": event.tag or str(event.kind).upper(),
        "statement": event.statement,
        "table_ids": sorted(ids),
        "committed": datetime.fromtimestamp(event.committed / 1_000_000, UTC),
    }


def _revision(row: tuple[Any, ...]) -> Revision:
    """Return the revision of a row, which has the columns of `_MARK` and then those of `_REST`."""
    _, table_id, number, lsn, seq, _, shape, origin, statement, is_ambiguous, transaction_id, seen = row
    table = None if shape in (None, "null") else stored_table(shape)
    visible = stored_visibility(seen) if seen else None
    key = LogKey(lsn, seq)
    return Revision(table_id, number, key, table, _ORIGINS[origin], statement, is_ambiguous, transaction_id, visible)
