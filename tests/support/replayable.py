"""Channels that can be gone back in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

HORIZON = {"age": "7d"}


def replayable(databases: Any, folder: Path, targets: Any = None, **replay: Any) -> Replica:
    """A channel with a replay `past`, as these settings of it say; not activated yet. targets: instead of one."""
    more = {"targets": targets} if targets else {}
    replays = [{"name": "past", **replay}]
    file = channel_file(folder, databases.source, databases.target, rewind_horizon=HORIZON, replays=replays, **more)
    return Replica(databases.source, databases.target, file)


def past_at(location: str) -> dict[str, Any]:
    """What a channel file says so that the channel can be gone back in, with a replay `past` there."""
    return {"rewind_horizon": HORIZON, "replays": [{"name": "past", "location": location}]}


def there_and_back(replica: Replica, past: str, statements: Sequence[str], rows: str) -> None:
    """After each statement the target is noted by the query `rows`; the replay shows the same when it goes there.

    So it does when it goes on from the first point to the last.
    """
    points = []
    for statement in statements:
        replica.at_source(statement)
        points.append((captured(replica), replica.rows(rows)))
    for position, noted in points:
        replica.rewind(position)
        assert read(past, rows) == noted
        assert read(past, _LEFT) == []
    replica.rewind(points[0][0])
    replica.rewind(points[-1][0], onward=True)
    assert read(past, rows) == points[-1][1]


_LEFT = "SELECT relname FROM pg_class WHERE relnamespace = 'ddlrepl'::regnamespace AND relname ~ '^[rs]_'"


def read(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return list(connection.execute(query))


def captured(replica: Replica) -> str:
    """Everything so far is captured and at the target; up to where."""
    replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        return str(run.captured())
