"""This part of the repository stores what people look at: statuses, ends of stages, lag, plans, what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    delete,
    func,
    select,
)

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.base import Base, insert_new, insert_new_all, put_all, update_row, upsert
from airflow_ddlrepl.repository.lag import add_lag, lag_row
from airflow_ddlrepl.repository.stored.health_rows import LagRow, Outcome, StageEnd, StatusRow
from airflow_ddlrepl.repository.stored.health_tables import (
    captured_rows,
    counted_from,
    lag_history,
    stage_ends,
    statuses,
    table_changes,
    troubles,
)
from airflow_ddlrepl.repository.stored.rows import CountedFrom, SegmentFacts

MOST_TOGETHER = 500  # tables of one query: databases limit the number of its parameters


class Health(Base):
    """This part of the repository stores what people look at; nothing here needs the channel's lock.

    A run that lost its channel, or a mere look, has something to tell, too.
    """

    def set_status(self, channel: str, found: StatusRow) -> None:
        """Store the newest status; one without content leaves the content and the moment of an older one."""
        values = {name: getattr(found, name) for name in ("taken", "run_id", "stage", "seconds", "reason", "content")}
        with self._database.write() as connection:
            if found.content is None and update_row(
                connection, statuses, {"channel": channel}, {"reason": found.reason}
            ):
                return
            upsert(connection, statuses, {"channel": channel}, values)

    def stored_status(self, channel: str) -> StatusRow | None:
        """Return the newest status; None: none was ever stored."""
        with self._database.read() as connection:
            row = connection.execute(select(statuses).where(statuses.c.channel == channel)).first()
            return _status(row) if row else None

    def last_status_cost(self, channel: str) -> tuple[datetime, float] | None:
        """Return when the newest status was found, and how many seconds that took."""
        query = select(statuses.c.taken, statuses.c.seconds).where(statuses.c.channel == channel)
        with self._database.read() as connection:
            row = connection.execute(query).first()
            return (row.taken, row.seconds) if row else None

    def notified_troubles(self, channel: str) -> dict[str, dict[str, Any]]:
        """Return the troubles that were told and are not over, as they were told, by their keys."""
        with self._database.read() as connection:
            rows = connection.execute(select(troubles).where(troubles.c.channel == channel))
            return {row.key: dict(row.content) for row in rows}

    def begin_trouble(self, channel: str, key: str, since: datetime, content: Mapping[str, Any]) -> bool:
        """Store that a trouble is told; False: it is already, by this process or another one."""
        row = {"channel": channel, "key": key, "since": since, "content": dict(content)}
        with self._database.write() as connection:
            return insert_new(connection, troubles, row)

    def end_trouble(self, channel: str, key: str) -> bool:
        """Forget a trouble, for it is over; False: it was forgotten already."""
        with self._database.write() as connection:
            where = (troubles.c.channel == channel, troubles.c.key == key)
            return connection.execute(delete(troubles).where(*where)).rowcount == 1

    def set_stage_end(self, channel: str, end: StageEnd, lag: Sequence[LagRow] = ()) -> None:
        """Store how a stage ended, with `failing_since` of its first failure without a success since.

        lag: as `add_lag` stores it, in the same transaction.
        """
        key = {"channel": channel, "stage": end.stage}
        values = asdict(end)
        del values["stage"]
        with self._database.write() as connection:
            if end.outcome is Outcome.FAILED:
                values["failing_since"] = _failing_since(connection, key) or end.ended
            if not end.progress:
                del values["progress"]  # what an earlier run has brought holds
            upsert(connection, stage_ends, key, {**values, "outcome": str(end.outcome)})
            add_lag(connection, channel, lag)

    def stage_ends(self, channel: str) -> dict[str, StageEnd]:
        """Return how the newest run of each stage ended, by stage."""
        with self._database.read() as connection:
            rows = connection.execute(select(stage_ends).where(stage_ends.c.channel == channel))
            return {row.stage: _stage_end(row) for row in rows}

    def add_lag(self, channel: str, rows: Sequence[LagRow]) -> None:
        """Store how far targets are behind after a cycle, and thin out what is old, once an hour."""
        with self._database.write() as connection:
            add_lag(connection, channel, rows)

    def lag_rows(self, channel: str, since: datetime) -> list[LagRow]:
        """Return how far the targets were behind since a moment, oldest first."""
        query = select(lag_history).where(lag_history.c.channel == channel, lag_history.c.at >= since)
        with self._database.read() as connection:
            return [lag_row(row) for row in connection.execute(query.order_by(lag_history.c.at))]

    def add_table_changes(self, channel: str, rows: Mapping[int, int], changed: datetime) -> None:
        """Store that tables have changed. rows: how many of their changes are new, by table id."""
        ids = sorted(rows)
        with self._database.write() as connection:
            for low in range(0, len(ids), MOST_TOGETHER):
                some = ids[low : low + MOST_TOGETHER]
                here = (table_changes.c.channel == channel) & table_changes.c.table_id.in_(some)
                query = select(table_changes.c.table_id, table_changes.c.rows).where(here)
                known = {row.table_id: row.rows for row in connection.execute(query)}
                made = {"channel": channel, "changed": changed}
                put_all(
                    connection,
                    table_changes,
                    [{**made, "table_id": i, "rows": known.get(i, 0) + rows[i]} for i in some],
                )

    def table_changes(self, channel: str) -> dict[int, tuple[datetime, int]]:
        """Return when the newest change of each table was captured, and how many there were, by table id."""
        with self._database.read() as connection:
            rows = connection.execute(select(table_changes).where(table_changes.c.channel == channel))
            return {row.table_id: (row.changed, row.rows) for row in rows}

    def counted_from(self, channel: str) -> CountedFrom | None:
        """Return from where on the captured rows of each table are counted; None: none was counted yet."""
        with self._database.read() as connection:
            return _counted_from(connection, channel)

    def rows_since(self, channel: str, since: Position, own: Mapping[int, Position]) -> dict[int, tuple[int, int]]:
        """Return how many rows of each table, and of which size, were captured at a position or later, by table id.

        own: positions of tables for which another one counts.
        """
        here, last = captured_rows.c.channel == channel, captured_rows.c.last
        sums = select(captured_rows.c.table_id, func.sum(captured_rows.c.rows), func.sum(captured_rows.c.bytes))
        found: dict[int, tuple[int, int]] = {}
        with self._database.read() as connection:
            query = sums.where(here, last >= int(since)).group_by(captured_rows.c.table_id)
            for table_id, rows, size in connection.execute(query):
                found[table_id] = (int(rows), int(size))
            for position, ids in _by_position(own).items():
                for low in range(0, len(ids), MOST_TOGETHER):
                    some = ids[low : low + MOST_TOGETHER]
                    query = sums.where(here, last >= int(position), captured_rows.c.table_id.in_(some))
                    found |= dict.fromkeys(some, (0, 0))
                    for table_id, rows, size in connection.execute(query.group_by(captured_rows.c.table_id)):
                        found[table_id] = (int(rows), int(size))
        return found

    def forget_rows(self, channel: str, before: Position, own: Mapping[int, Position]) -> None:
        """Forget the captured rows that each target has: those that commit before a position.

        own: positions of tables that have less than that at a target.
        """
        here, last = captured_rows.c.channel == channel, captured_rows.c.last
        with self._database.write() as connection:
            known = _counted_from(connection, channel)
            if known is None or before <= known.position:
                return
            less = {number: max(at, known.of(number)) for number, at in own.items() if at < before}
            query = select(captured_rows.c.table_id).distinct().where(here, last < int(before))
            ids = list(connection.scalars(query)) if less else []
            if not less:
                connection.execute(delete(captured_rows).where(here, last < int(before)))
            for position, some in _by_position({number: less.get(number, before) for number in ids}).items():
                for low in range(0, len(some), MOST_TOGETHER):
                    these = captured_rows.c.table_id.in_(some[low : low + MOST_TOGETHER])
                    connection.execute(delete(captured_rows).where(here, these, last < int(position)))
            tables = {str(number): int(at) for number, at in less.items() if at < before}
            values = {"position": int(before), "tables": tables}
            update_row(connection, counted_from, {"channel": channel}, values)


def count_rows(connection: Connection, channel: str, segment: SegmentFacts) -> None:
    """Store how many rows of each table a new segment has; needs a fenced transaction."""
    insert_new(connection, counted_from, {"channel": channel, "position": int(segment.low), "tables": {}})
    rows = [
        {"channel": channel, "table_id": number, "low": int(low), "last": int(one.last), "rows": one.rows,
         "bytes": one.bytes}
        for (number, low), one in segment.tables.items()
    ]  # fmt: skip
    insert_new_all(connection, captured_rows, rows)


def _counted_from(connection: Connection, channel: str) -> CountedFrom | None:
    row = connection.execute(select(counted_from).where(counted_from.c.channel == channel)).first()
    if row is None:
        return None
    return CountedFrom(Position(row.position), {int(number): Position(at) for number, at in row.tables.items()})


def _by_position(own: Mapping[int, Position]) -> dict[Position, list[int]]:
    found: dict[Position, list[int]] = {}
    for number, at in own.items():
        found.setdefault(at, []).append(number)
    return found


def _failing_since(connection: Connection, key: Mapping[str, Any]) -> datetime | None:
    where = (stage_ends.c[name] == value for name, value in key.items())
    found: datetime | None = connection.execute(select(stage_ends.c.failing_since).where(*where)).scalar()
    return found


def _status(row: Any) -> StatusRow:
    return StatusRow(row.taken, row.run_id, row.stage, row.seconds, row.reason, row.content)


def _stage_end(row: Any) -> StageEnd:
    when = (row.stage, row.run_id, row.began, row.ended)
    return StageEnd(*when, Outcome(row.outcome), row.failing_since, row.failure, row.progress or {})
