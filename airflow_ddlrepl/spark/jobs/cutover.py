"""This Spark app says what is missing for a cut-over, or switches over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def check(channel: Channel, run_id: str, runner: Runner, *, compares: bool = False) -> dict[str, Any]:
    """Return what is missing for a cut-over, ready for JSON. compares: compare all tables, too."""
    return run_stage("check_cut_over", channel, run_id, runner, compares=compares)


def cut_over(
    channel: Channel, run_id: str, runner: Runner, *, accepted: Sequence[str] = (), compares: bool = False
) -> dict[str, Any]:
    """Switch over and return what was done, ready for JSON. accepted: codes of conditions that need not be met."""
    return run_stage("cut_over", channel, run_id, runner, accepted, compares=compares)
