"""This part of the repository stores what waits at targets, for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    Table,
    delete,
    func,
    insert,
    select,
)

from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.repository.base import Base
from airflow_ddlrepl.repository.stored.health_rows import PlanRow, QueuedRow
from airflow_ddlrepl.repository.stored.health_tables import (
    plans,
    queued_rows,
)


class Pending(Base):
    """This part of the repository stores what waits at targets, for people; nothing here needs the channel's lock."""

    def set_plans(self, channel: str, target: str, rows: Sequence[PlanRow]) -> None:
        """Store the plan of a target in place of the one before."""
        values = [
            {
                "channel": channel,
                "target": target,
                "table_id": one.table_id,
                "lsn": int(one.key.lsn),
                "seq": one.key.seq,
                "low": int(one.low),
                "high": int(one.high),
                **{name: getattr(one, name) for name in ("revision", "fingerprint", "run_id", "content")},
            }
            for one in rows
        ]
        self._replace(plans, "planned", channel, target, values)

    def plans(self, channel: str, table_id: int) -> list[PlanRow]:
        """Return what targets would do about the captured changes of a table that they lack, in log order."""
        query = select(plans).where(plans.c.channel == channel, plans.c.table_id == table_id)
        with self._database.read() as connection:
            found = connection.execute(query.order_by(plans.c.target, plans.c.lsn, plans.c.seq))
            return [_plan(row) for row in found]

    def set_queued_rows(self, channel: str, target: str, rows: Sequence[QueuedRow]) -> None:
        """Store the rows in a target's error queue in place of those before."""
        values = [
            {"channel": channel, "target": target, "number": number, "table_name": one.table, "content": one.content}
            for number, one in enumerate(rows)
        ]
        self._replace(queued_rows, "found", channel, target, values)

    def queued_rows(self, channel: str, tables: Collection[str] | None = None, most: int = 1000) -> list[QueuedRow]:
        """Return rows in the error queues of targets, as each queue has them. tables: of these alone."""
        query = select(queued_rows).where(queued_rows.c.channel == channel)
        if tables is not None:
            query = query.where(queued_rows.c.table_name.in_(list(tables)))
        query = query.order_by(queued_rows.c.target, queued_rows.c.number).limit(most)
        with self._database.read() as connection:
            rows = connection.execute(query)
            return [QueuedRow(row.target, row.table_name, row.content, row.found) for row in rows]

    def _replace(self, table: Table, moment: str, channel: str, target: str, values: Sequence[dict[str, Any]]) -> None:
        """Put these rows in the place of a target's; where there are none before and after, write nothing."""
        here = (table.c.channel == channel) & (table.c.target == target)
        if not values:
            with self._database.read() as connection:
                if not connection.execute(select(func.count()).select_from(table).where(here)).scalar():
                    return
        with self._database.write() as connection:
            connection.execute(delete(table).where(here))
            if values:
                now = self._database.now(connection)
                connection.execute(insert(table), [{**one, moment: now} for one in values])


def _plan(row: Any) -> PlanRow:
    place = (row.target, row.table_id, LogKey(Position(row.lsn), row.seq), Position(row.low), Position(row.high))
    return PlanRow(*place, row.revision, row.fingerprint, row.run_id, row.content, row.planned)
