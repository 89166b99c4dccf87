"""A source with a publication and a slot, and what a capture of its log holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl.capture.write_range import LogWriting, RangeTask, write_range
from airflow_ddlrepl.engines.postgres.log.read_range import PostgresRange
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.trail.manifest import Part, Segment
from airflow_ddlrepl.trail.store import Trail

START, END = LogKey(0, 0), LogKey(1 << 62, 0)


class Source:
    """A database with a publication and a slot, and the capture of what happened since."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn, self.folder = dsn, folder
        self.sql = psycopg.connect(dsn, autocommit=True)
        self.sql.execute("create publication pub for all tables")
        self.slot = f"slot_{dsn.rsplit('_', 1)[1][:8]}"
        self.low = self._position(
            f"select lsn::text from pg_create_logical_replication_slot('{self.slot}', 'pgoutput')"
        )

    def _position(self, query: str) -> Position:
        row = self.sql.execute(query).fetchone()
        assert row
        return Position.parse(row[0])

    def now(self) -> Position:
        return self._position("select pg_current_wal_flush_lsn()::text")

    def is_read(self) -> bool:
        found = self.sql.execute("select active from pg_replication_slots where slot_name = %s", [self.slot]).fetchone()
        return found == (True,)

    def task(
        self,
        low: Position | None = None,
        high: Position | None = None,
        *,
        index: int = 0,
        window_low: Position | None = None,
        **more: Any,
    ) -> RangeTask:
        """more: of the range."""
        low, high = self.low if low is None else low, high or self.now()
        plain = PostgresRange(low, high, self.dsn, self.slot, "pub")
        writing = LogWriting(self.folder.as_uri(), "shop", 0, 1, low if window_low is None else window_low)
        return RangeTask(replace(plain, **more), index, writing)

    def capture(self, **more: Any) -> Content:
        return Content(self, [write_range(self.task(**more))])


class Content:
    """What parts hold, as plain values."""

    def __init__(self, source: Source, parts: list[Part]) -> None:
        trail = Trail(source.folder.as_uri(), "shop")
        segment = Segment("shop", 0, 1, parts[0].low, parts[-1].high, tuple(parts))
        self.files = list(segment.files())
        self.events = trail.events(segment)
        self.transactions = trail.transactions(segment).to_pylist()
        self.rows: dict[str, list[dict[str, Any]]] = {}
        for file in self.files:
            self.rows.setdefault(file.name, []).extend(trail.rows(file, START, END).to_pylist())

    def everything(self) -> tuple[Any, ...]:
        return self.rows, self.events, self.transactions
