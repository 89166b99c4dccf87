"""When runs come: of the cycle at the points of its schedule, also of a changed one; of replays in backfills alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DataInterval, TimeRestriction

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.timetables import BackfillTimetable
from tests.airflow.test_channel_dags import REPLAYS, write_channel

NOW = pendulum.datetime(2026, 11, 21, 10, 12, tz="UTC")
START = pendulum.datetime(2026, 1, 1, tz="UTC")


def stored(folder: Path, kind: str, schedule: str) -> Any:
    """The timetable of a channel's DAG as the scheduler reads it from Airflow's database."""
    file = write_channel(folder, more=f"{REPLAYS}\nschedule: '{schedule}'")
    dag = build_channel_dags(file)[f"ddlrepl__shop__{kind}"]
    return DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        ("*/5 * * * *", NOW.replace(minute=10)),  # its newest point, which is not later than the next one
        ("20 * * * *", NOW.replace(minute=20)),
        ("0 2 * * *", NOW.replace(day=22, hour=2, minute=0)),
        ("30 10 * * *", NOW.replace(minute=30)),
    ],
)
def test_a_changed_schedule_holds_from_its_next_point_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schedule: str, wanted: pendulum.DateTime
) -> None:
    """The last run was that of 10:00, of an hourly schedule."""
    timetable = stored(tmp_path, "replicate", schedule)
    last = NOW.replace(minute=0)
    monkeypatch.setattr("airflow.timetables.trigger.utcnow", lambda: NOW)
    following = timetable.next_dagrun_info(
        last_automated_data_interval=DataInterval(last, last), restriction=TimeRestriction(START, None, False)
    )
    assert following.run_after == wanted


def test_a_replay_runs_in_backfills_alone(tmp_path: Path) -> None:
    timetable = stored(tmp_path, "replay", "@hourly")
    assert type(timetable) is BackfillTimetable and timetable.periodic
    never = timetable.next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(START, None, False)
    )
    assert never is None
    first = timetable.next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(NOW, NOW.add(hours=2), True)
    )
    assert first is not None
    assert first.data_interval == DataInterval(NOW.replace(hour=11, minute=0), NOW.replace(hour=12, minute=0))
    assert first.data_interval.end - first.data_interval.start == timedelta(hours=1)
