"""Refresh: the tables that wait for it are loaded anew."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.spark.jobs.stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """What was done, ready for JSON."""
    return run_stage("refresh", channel, run_id, runner)
