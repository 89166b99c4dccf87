"""The lag after each cycle is stored for two days, then that of each hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from airflow_ddlrepl.repository.base import insert_new_all
from airflow_ddlrepl.repository.stored.health_rows import LagRow
from airflow_ddlrepl.repository.stored.health_tables import lag_history

DENSE = timedelta(hours=48)
"""A row of each cycle is stored for so long, then one of each hour."""
HOURLY = timedelta(days=30)
"""Rows of hours are stored for so long."""
_HOUR = timedelta(hours=1)


def add_lag(connection: Connection, channel: str, rows: Sequence[LagRow]) -> None:
    """Store lag after a cycle; put hours in the place of the cycles of long ago. Needs a fenced transaction."""
    insert_new_all(connection, lag_history, [{"channel": channel, **asdict(row)} for row in rows])
    for row in rows:
        old = (lag_history.c.channel == channel) & (lag_history.c.target == row.target)
        old &= lag_history.c.at < row.at - DENSE - _HOUR
        if connection.execute(select(lag_history.c.at).where(old, ~lag_history.c.is_hour).limit(1)).first():
            _thin_out(connection, channel, row.target, row.at)


def by_hour(rows: Sequence[LagRow]) -> list[LagRow]:
    """Return one row for each target and whole hour, as they are stored of cycles of long ago."""
    hours: dict[tuple[str, datetime], list[LagRow]] = {}
    for row in rows:
        hours.setdefault((row.target, row.at.replace(minute=0, second=0, microsecond=0)), []).append(row)
    return [_hour(hour, found) for (_, hour), found in sorted(hours.items(), key=lambda one: one[0][1])]


def _thin_out(connection: Connection, channel: str, target: str, now: datetime) -> None:
    """Put one row for each whole hour in the place of the rows of its cycles, and delete what is too old."""
    here = (lag_history.c.channel == channel) & (lag_history.c.target == target)
    limit = (now - DENSE).replace(minute=0, second=0, microsecond=0)
    old = here & (lag_history.c.at < limit) & ~lag_history.c.is_hour
    cycles = [lag_row(row) for row in connection.execute(select(lag_history).where(old).order_by(lag_history.c.at))]
    connection.execute(delete(lag_history).where(old | (here & (lag_history.c.at < now - HOURLY))))
    for row in by_hour(cycles):
        if row.at >= now - HOURLY:
            connection.execute(insert(lag_history).values(channel=channel, **asdict(row)))


def _hour(hour: datetime, rows: Sequence[LagRow]) -> LagRow:
    lags = [row.lag_seconds for row in rows if row.lag_seconds is not None]
    sizes = [row.lag_bytes for row in rows if row.lag_bytes is not None]
    names = dict.fromkeys(name for row in rows for name in row.seconds)
    seconds = {name: round(sum(row.seconds.get(name, 0.0) for row in rows) / len(rows), 3) for name in names}
    counts = (sum(row.rows for row in rows), sum(row.schema_changes for row in rows))
    made = LagRow(rows[0].target, hour, max(lags, default=None), max(sizes, default=None), *counts, seconds)
    return replace(made, is_hour=True)


def lag_row(row: Any) -> LagRow:
    """Return a stored row of lag."""
    lags = (row.target, row.at, row.lag_seconds, row.lag_bytes)
    return LagRow(*lags, row.rows, row.schema_changes, row.seconds, row.is_hour)
