"""A clock that has jumped removes nothing: not the trail, not what rewinds need, not the log that the source holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.flow.capture import log_retention
from airflow_ddlrepl.flow.run import clock
from airflow_ddlrepl.flow.snapshots import retention
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.snapshots.test_trail_places import cycles, manifests, start


@contextmanager
def clock_off_by(jump: timedelta) -> Iterator[None]:
    """This machine's clock, as the modules read it that remove what is old."""

    class Jumped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + jump

    with pytest.MonkeyPatch.context() as patched:
        for module in (clock, retention, log_retention):
            patched.setattr(module, "datetime", Jumped)
        yield


@pytest.mark.parametrize("jump", [timedelta(days=3650), timedelta(days=-3650), timedelta(hours=2)])
def test_nothing_is_removed_by_a_clock_that_has_jumped(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture, jump: timedelta
) -> None:
    replica = start(
        databases, tmp_path, retention={"age": 3600}, rewind_horizon={"age": "7d", "hold_log": {"age": "1h"}},
        replays=[{"name": "past", "location": databases.source}],
    )  # fmt: skip
    cycles(replica, 2)
    held = held_from(replica)
    replica.at_source("insert into t (id, v) values (500, 'y')")
    with clock_off_by(jump):
        assert replica.settle().integrate.expired == 0
    assert len(manifests(replica)) == 3 and held_from(replica) == held
    if jump > timedelta(0):
        assert "this machine's clock and the source's are" in caplog.text
    replica.at_source("insert into t (id, v) values (501, 'y')")
    assert replica.settle().integrate.expired == 0, "with the right clock it goes on as before"


def held_from(replica: Any) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return able(run.source, RetainsLog).retained_log.held_from()
