"""Integrate: the rows of the trail go into the targets."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """What was done, ready for JSON."""
    return run_stage("integrate", channel, run_id, runner)
