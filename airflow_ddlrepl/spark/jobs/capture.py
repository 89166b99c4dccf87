"""Capture: the source's log up to now goes into the trail."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """What was done, ready for JSON."""
    return run_stage("capture", channel, run_id, runner)
