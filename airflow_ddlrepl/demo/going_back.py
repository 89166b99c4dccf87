"""The demo's end: the source as it was before some of its revisions, built from the trail in an empty database."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.demo.output import to_log
from airflow_ddlrepl.demo.second_opinion import Facts, Opinion, judge, look
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.flow import open_channel, rewind
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.work import InProcess

# revision → what it does: the demo goes back to right before it
BEFORE: dict[str, str] = {
    "d0f1c55954fa": "0029 drops dag.is_subdag and dag.root_dag_id",
    "d03e4a635aa3": "0046 drops dag_pickle, between the DDL of two revisions",
    "b12d4f98a91e": "0096 drops team.id, after xcom was refreshed",
}


@dataclass(frozen=True)
class Noted:
    """What the source held before a revision, as its server told it then, and the position in its log."""

    revision: str
    position: Lsn
    tables: dict[str, Facts]


@dataclass(frozen=True)
class WentBack:
    """A rewind to what was noted, and how equal that is."""

    noted: Noted
    opinion: Opinion
    seconds: float

    def line(self) -> str:
        found = self.opinion
        verdict = f"{len(found.differences)} differences" if found.differences else "equal"
        held = f"{found.tables} tables, {found.columns} columns, {found.rows:,} rows"
        return f"before {BEFORE[self.noted.revision]}: {held}, {verdict}; {self.seconds:.0f}s"


def note(source: str, revision: str) -> Noted:
    """source: a libpq URL; nobody writes meanwhile."""
    with connect(source) as connection:
        (position,) = connection.execute(b"SELECT pg_current_wal_flush_lsn()::text").fetchone() or ("0/0",)
    return Noted(revision, Lsn.parse(position), look(source))


def go_back(channel: Path, replay: str, place: str, noted: Noted) -> WentBack:
    """What `ddlrepl rewind --into` does. replay: its name in the channel file; place: its libpq URL."""
    started = time.monotonic()
    with to_log(channel.with_name("rewind.log")), open_channel(channel, InProcess()) as run:
        rewind(run, noted.position, replay)
    return WentBack(noted, judge(noted.tables, look(place)), time.monotonic() - started)
