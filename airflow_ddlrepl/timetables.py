"""This module gives Airflow the intervals that a backfill of a channel replays."""

from __future__ import annotations

from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable


class BackfillTimetable(CronDataIntervalTimetable):  # type: ignore[misc, unused-ignore]
    """This timetable has the intervals between the points of a cron expression for backfills; it schedules no run.

    Airflow backfills only what has a time schedule; it asks for a backfill's intervals with `catchup`, and for the next
    run of a DAG of ours, which never catches up, without.
    """

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """Return the interval after the last one when a backfill asks, else None."""
        if not restriction.catchup:
            return None
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )
