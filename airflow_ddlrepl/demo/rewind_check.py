"""Rewind the demo to the source before some of its revisions, into an empty database, and compare."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.demo.checksums import DatabaseDiff, TableChecksum, diff_checksums, read_checksums
from airflow_ddlrepl.demo.output import to_log
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.flow import open_channel, rewind
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess

# revision → what it does: the demo goes back to right before it
BEFORE: dict[str, str] = {
    "d0f1c55954fa": "0029 drops dag.is_subdag and dag.root_dag_id",
    "d03e4a635aa3": "0046 drops dag_pickle, between the DDL of two revisions",
    "b12d4f98a91e": "0096 drops team.id, after xcom was refreshed",
}


@dataclass(frozen=True)
class SourceState:
    """A source state is the source's contents before a revision, by its server's checksums, and its log's position."""

    revision: str
    position: Position
    tables: dict[str, TableChecksum]


@dataclass(frozen=True)
class RewindCheck:
    """A rewind check says how a rewind's result differs from the source's contents at that position."""

    expected: SourceState
    diff: DatabaseDiff
    seconds: float

    def line(self) -> str:
        """Return the check as one line of text."""
        found = self.diff
        verdict = f"{len(found.differences)} differences" if found.differences else "equal"
        held = f"{found.tables} tables, {found.columns} columns, {found.rows:,} rows"
        return f"before {BEFORE[self.expected.revision]}: {held}, {verdict}; {self.seconds:.0f}s"


def read_source_state(source: str, revision: str) -> SourceState:
    """Return the source's contents and its log position. source: a libpq URL; nobody writes meanwhile."""
    with connect(source) as connection:
        (position,) = connection.execute(b"SELECT pg_current_wal_flush_lsn()::text").fetchone() or ("0/0",)
    return SourceState(revision, Position.parse(position), read_checksums(source))


def check_rewind(channel: Path, replay: str, place: str, expected: SourceState) -> RewindCheck:
    """Rewind as `ddlrepl rewind --into` does, and compare.

    replay: its name in the channel file. place: its libpq URL.
    """
    started = time.monotonic()
    with to_log(channel.with_name("rewind.log")), open_channel(channel, InProcess()) as run:
        rewind(run, expected.position, replay)
    return RewindCheck(expected, diff_checksums(expected.tables, read_checksums(place)), time.monotonic() - started)
