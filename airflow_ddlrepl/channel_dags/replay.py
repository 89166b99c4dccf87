"""This DAG's backfills replay the past of a channel, interval by interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_ddlrepl.channel_dags.dag import channel_dag, shown
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.operators.backfill import ReplayOperator
from airflow_ddlrepl.operators.messages.markdown import code
from airflow_ddlrepl.timetables import BackfillTimetable

# "scheduled" is there because Airflow wants it of every DAG with a schedule; the timetable never schedules a run.
RUNS = ("backfill", "scheduled")


def replay_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG of a channel with replays and a schedule, which gives a backfill its intervals."""
    first = channel.replays[0].name
    with channel_dag(
        channel,
        "replay",
        defaults,
        description=f"Backfills replay the past of {channel.name}; nothing runs otherwise",
        doc_md=_about_replays(channel, file),
        schedule=BackfillTimetable(channel.schedule, timezone="UTC"),
        allowed_run_types=RUNS,
    ) as dag:
        into = f"{{{{ (dag_run.conf or {{}}).get('into', '{first}') }}}}"
        ReplayOperator(task_id="replay", channel=str(file.absolute()), into=into, max_active_tis_per_dag=1)
    return dag


def _about_replays(channel: Channel, file: Path) -> str:
    first = channel.replays[0]
    return f"""Replays channel **{channel.name}** ({code(file.name)}), in backfills only.

A backfill brings **{first.name}** ({code(shown(first.location))}; or the replay that its conf names as `into`) from the
start of each interval to its end. Targets and their positions are not changed. One run at a time keeps the intervals in
order.
"""
