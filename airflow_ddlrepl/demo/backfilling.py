"""The demo's last act: a backfill of the channel, by a real scheduler, replays the demo in two intervals."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow_ddlrepl.demo.second_opinion import Opinion, compare
from airflow_ddlrepl.demo.standalone import Standalone
from airflow_ddlrepl.errors import DdlReplError

DAG = "ddlrepl__demo__replicate"
REPLAY = "ddlrepl__demo__replay"
MINUTE = timedelta(minutes=1)
PATIENCE = 900.0


@dataclass(frozen=True)
class Backfilled:
    """How equal the replay is to the source after the last interval."""

    intervals: tuple[str, ...]
    opinion: Opinion
    seconds: float

    def line(self) -> str:
        verdict = f"{len(self.opinion.differences)} differences" if self.opinion.differences else "equal to the source"
        return f"{' and '.join(self.intervals)}: {self.opinion.tables} tables, {verdict}; {self.seconds:.0f}s"


def backfill(channel: Path, state: str, source: str, past: str, since: datetime) -> Backfilled:
    """As `airflow backfill create` does it. state: an empty database for Airflow; it, source and past: libpq URLs.

    since: when the channel was activated. Raises DdlReplError DEM-102 to DEM-104 when Airflow does not do it.
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
    return Backfilled(intervals, compare(source, past), time.monotonic() - started)


def bounds(since: datetime, now: datetime) -> tuple[datetime, datetime, datetime]:
    """Two intervals of whole minutes that hold everything in between."""
    start = since.replace(second=0, microsecond=0)
    end = max(now.replace(second=0, microsecond=0) + MINUTE, start + 2 * MINUTE)
    middle = start + max(MINUTE, (end - start) / 2)
    return start, middle.replace(second=0, microsecond=0), end
