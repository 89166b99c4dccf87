"""This Spark app prepares the source of a channel, enrolls its tables and loads them."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.notation.moment import parse_start
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(
    channel: Channel,
    run_id: str,
    runner: Runner,
    *,
    start_moment: str = "now",
    refresh: bool = True,
    **how: str,
) -> dict[str, Any]:
    """Activate the channel and return what was done, ready for JSON.

    how: enrollment, trail, accept, as `flow.activate` takes them.
    Raises ConfigError CFG-110 or CFG-111 when `start_moment` can't be parsed.
    """
    start = parse_start(start_moment, source_engine(channel).positions)
    return run_stage("activate", channel, run_id, runner, load=refresh, start=start, **how)
