"""Channels that can be gone back in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.work import InProcess
from tests.live.replica import Replica, channel_file

HORIZON = {"age": "7d"}


def replayable(databases: Any, folder: Path, targets: Any = None, **replay: Any) -> Replica:
    """A channel with a replay `past`, as these settings of it say; not activated yet. targets: instead of one."""
    more = {"targets": targets} if targets else {}
    replays = [{"name": "past", **replay}]
    file = channel_file(folder, databases.source, databases.target, rewind_horizon=HORIZON, replays=replays, **more)
    return Replica(databases.source, databases.target, file)


def read(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return list(connection.execute(query))


def captured(replica: Replica) -> str:
    """Everything so far is captured and at the target; up to where."""
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return str(cycle.captured())
