"""Two channels in a chain: what the first one writes at its target, the second one captures there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file, run
from tests.support.replicating import columns

START = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.pay (id int PRIMARY KEY, v int)",
    "CREATE TABLE hr.tmp (id int PRIMARY KEY)",
    "INSERT INTO hr.pay VALUES (1, 1)",
)
REPLICAT: dict[str, Any] = {"maps": [{"source": "hr.*", "target": "hr.*"}], "ddl": {}}
CARRIED: dict[str, Any] = {"ignore_replicates": False}


@dataclass
class Chain:
    """first: writes what second captures. began: microseconds since 1970 at its start."""

    first: Replica
    second: Replica
    began: float

    def turn(self) -> tuple[Any, Any]:
        """Run both; return their results."""
        return self.first.replicate(), self.second.replicate()

    def columns(self, table: str) -> tuple[str, str]:
        """Return the columns of a table in the middle, and at the end."""
        return columns(self.first, table), columns(self.second, table)

    def captured(self) -> list[Event]:
        """Return the events of the second channel's trail, in their order."""
        with flow.open_channel(self.second.file, InProcess()) as cycle:
            segments = cycle.trail.segments(cycle.epoch)
            events = [event for segment in segments for event in cycle.trail.events(segment)]
        return sorted(events, key=lambda event: event.key)


def chain(
    databases: Any,
    end: str,
    folder: Path,
    *,
    loader: str = "",
    replicat: dict[str, Any] | None = None,
    extract: dict[str, Any] | None = None,
    middle: str = "hr",
    onward: dict[str, Any] = REPLICAT,
    at_first: dict[str, Any] | None = None,
) -> Chain:
    """Activate both channels, with a table and a row at the source; `end` is the third database.

    loader: the location of the first one's target, where another role than the superuser writes there. replicat: of
    the first channel's target, else it adapts. extract: of the second one's source, else it takes all. middle: the
    schema of the tables there. onward: the second one's replicat. at_first: the first one's extract.
    """
    began = time.time() * 1e6
    run(databases.source, *START)
    target: dict[str, Any] = {"name": "middle", "location": loader or databases.target}
    other: dict[str, Any] = {"name": "end", "location": end}
    if replicat is not None:
        target["replicat"] = replicat
    if extract is not None:
        other["replicat"] = onward
    first = channel_file(
        folder,
        databases.source,
        "",
        source={"extract": at_first} if at_first is not None else {},
        targets=[target],
        adapt_ddl=[] if replicat is not None else _ALL,
        channel="first",
    )
    source: dict[str, Any] = {"tables": [f"{middle}.*"]}
    if extract is not None:
        source["extract"] = {"tables": [f"{middle}.*"], "ddl": {}, **extract}
    (folder / "second").mkdir()
    second = channel_file(
        folder / "second",
        databases.target,
        "",
        source=source,
        targets=[other],
        adapt_ddl=[] if extract is not None else _ALL,
        channel="second",
    )
    found = Chain(Replica(databases.source, databases.target, first), Replica(databases.target, end, second), began)
    for one in (found.first, found.second):
        one.activate()
        one.replicate()
    return found


_ALL = [{"add_table_pattern": "*"}]
