"""These jobs run the stages of a cycle that take no arguments: capture, AdaptDDL and integrate."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def capture(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """Read the source's log up to now into the trail; return what was captured, ready for JSON."""
    return run_stage("capture", channel, run_id, runner)


def adapt_ddl(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """Let the targets follow the schema changes that the trail holds; return what was done, ready for JSON."""
    return run_stage("adapt", channel, run_id, runner)


def integrate(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """Apply the rows of the trail to the targets; return what was applied, ready for JSON."""
    return run_stage("integrate", channel, run_id, runner)
