"""Check the demo's backfill: a real scheduler backfills the channel, and so replays the demo in two intervals."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow_ddlrepl.demo.checksums import DatabaseDiff, compare
from airflow_ddlrepl.demo.standalone import Standalone
from airflow_ddlrepl.errors import DdlReplError

DAG = "ddlrepl__demo__replicate"
REPLAY = "ddlrepl__demo__replay"
MINUTE = timedelta(minutes=1)
PATIENCE = 900.0


@dataclass(frozen=True)
class BackfillCheck:
    """A backfill check says how a backfill's replay differs from the source after the last interval."""

    intervals: tuple[str, ...]
    diff: DatabaseDiff
    seconds: float

    def line(self) -> str:
        """Return the check as one line of text."""
        verdict = f"{len(self.diff.differences)} differences" if self.diff.differences else "equal to the source"
        return f"{' and '.join(self.intervals)}: {self.diff.tables} tables, {verdict}; {self.seconds:.0f}s"


def backfill(channel: Path, state: str, source: str, past: str, since: datetime) -> BackfillCheck:
    """Backfill the channel as `airflow backfill create` does, and compare the replay with the source.

    state: an empty database for Airflow; it, source and past are libpq URLs. since: when the channel was activated.
    Raises DdlReplError DEM-102 to DEM-104 when Airflow fails.
    """
    started = time.monotonic()
    start, middle, end = bounds(since, datetime.now(UTC))
    schedule = ",".join(str(minute) for minute in sorted({start.minute, middle.minute, end.minute})) + " * * * *"
    with channel.open("a") as file:
        file.write(f'schedule: "{schedule}"\n')
    home = channel.with_name("scheduled")
    home.mkdir(mode=0o700)
    connections = {name: value for name, value in os.environ.items() if name.startswith("AIRFLOW_CONN_")}
    folder = {"AIRFLOW__CORE__DAGS_FOLDER": os.environ["AIRFLOW__CORE__DAGS_FOLDER"]}
    with Standalone(home, state, connections | folder) as airflow:
        airflow.wait_for_dag(DAG, schedule)
        airflow.command("dags", "unpause", DAG, "--yes")
        airflow.wait_for_interval(DAG, end, PATIENCE)
        airflow.command("dags", "unpause", REPLAY, "--yes")
        states = airflow.backfill(REPLAY, start, middle, PATIENCE)
        if list(states.values()) != ["success", "success"]:
            raise DdlReplError(f"the backfill ended with {states}: {airflow.task_logs()}", code="DEM-104")
    intervals = tuple(f"{a:%H:%M} to {b:%H:%M}" for a, b in ((start, middle), (middle, end)))
    return BackfillCheck(intervals, compare(source, past), time.monotonic() - started)


def bounds(since: datetime, now: datetime) -> tuple[datetime, datetime, datetime]:
    """Return the bounds of two intervals of whole minutes that contain all the time in between."""
    start = since.replace(second=0, microsecond=0)
    end = max(now.replace(second=0, microsecond=0) + MINUTE, start + 2 * MINUTE)
    middle = start + max(MINUTE, (end - start) / 2)
    return start, middle.replace(second=0, microsecond=0), end
