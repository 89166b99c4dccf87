"""AdaptDDL: the targets follow the schema changes that the trail holds."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """What was done, ready for JSON."""
    return run_stage("adapt", channel, run_id, runner)
