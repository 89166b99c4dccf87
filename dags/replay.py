"""This DAG's backfills replay the past of a channel, interval by interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.dag import TABLES, channel_dag, params, shown, text
from airflow_ddlrepl.operators.backfill import ReplayOperator
from airflow_ddlrepl.operators.messages.markdown import code
from airflow_ddlrepl.timetables import BackfillTimetable

# "scheduled" is there because Airflow wants it of every DAG with a schedule; the timetable never schedules a run.
RUNS = ("backfill", "scheduled")


def replay_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG of a channel with replays and a schedule, which gives a backfill its intervals."""
    places = [place.name for place in channel.replays]
    with channel_dag(
        channel,
        "replay",
        defaults,
        description=f"Create backfills here: they replay the past of {channel.name} in another place",
        doc_md=_about_replays(channel, file),
        schedule=BackfillTimetable(channel.schedule, timezone="UTC"),
        allowed_run_types=RUNS,
        params={
            "into": Param(places[0], type="string", title="A replay", description=f"one of {', '.join(places)}"),
            "tables": text("Tables", TABLES),
        },
    ) as dag:
        wanted = params("into", "tables")
        ReplayOperator(task_id="replay", channel=str(file.absolute()), max_active_tis_per_dag=1, **wanted)
    return dag


def _about_replays(channel: Channel, file: Path) -> str:
    first = channel.replays[0]
    return f"""Replays channel **{channel.name}** ({code(file.name)}), in backfills only.

A backfill brings **{first.name}** ({code(shown(first.location))}; or the replay that its conf names as `into`) from the
start of each interval to its end; `tables` of the conf names those that are wanted. Targets and their positions are not
changed. One run at a time keeps the intervals in order. While another run works on the channel a replay waits for it.
"""
