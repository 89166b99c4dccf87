"""This DAG, which a person starts, loads tables again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronTriggerTimetable

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.dag import channel_dag, params, text
from airflow_ddlrepl.operators.messages.markdown import code
from airflow_ddlrepl.operators.refresh import IsolatedRefreshOperator, RefreshOperator

TABLES = "schema.table, one per line; *.* for all; empty: those that wait for a refresh"
OPTIONS = (
    "-gr row by row, only what differs; with it -v the differences as SQL, -mdi no deletes and inserts; -p2: targets"
)


def refresh_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts to load tables again: those named, or those that wait for a refresh."""
    with channel_dag(
        channel,
        "refresh",
        defaults,
        description=f"Loads tables of {channel.name} again",
        doc_md=_about(channel, file),
        params={"tables": text("Tables", TABLES), "options": text("Options", OPTIONS)},
    ) as dag:
        RefreshOperator(task_id="refresh", channel=str(file.absolute()), **params("tables", "options"))
    return dag


def isolated_refresh_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that loads the tables which the channel file isolates, while `replicate` goes on."""
    with channel_dag(
        channel,
        "isolated_refresh",
        defaults,
        description=f"Loads tables of {channel.name} while the others go on",
        doc_md=f"Loads the tables of **{channel.name}** that wait for a refresh and that `-inow` isolates, beside"
        f" `ddlrepl__{channel.name}__replicate`. It takes no slot of the channel's pool, as it waits for nobody.",
        schedule=CronTriggerTimetable(channel.schedule, timezone="UTC") if channel.schedule else None,
    ) as dag:
        IsolatedRefreshOperator(task_id="refresh", channel=str(file.absolute()), pool="default_pool")
    return dag


def _about(channel: Channel, file: Path) -> str:
    return f"""Loads tables of channel **{channel.name}** ({code(file.name)}) again, as `ddlrepl refresh` does: those
that are named, with the options of this run; or those that wait for a refresh, with `refresh_options` of the channel
file. Rows and schema changes that come meanwhile are merged by the next run of `ddlrepl__{channel.name}__replicate`.
"""
