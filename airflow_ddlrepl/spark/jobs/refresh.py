"""This Spark app loads tables again: those that wait for a refresh, and those that are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.notation.refresh_options import options_for
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(
    channel: Channel, run_id: str, runner: Runner, *, tables: Sequence[str] = (), options: str = ""
) -> dict[str, Any]:
    """Load the tables and return what was done, ready for JSON.

    Raises ConfigError CFG-136 or CFG-137 when the options can't be parsed, or no table is named for them.
    """
    how = options_for(tables, options)
    return run_stage("refresh_isolated" if how.isolates else "refresh", channel, run_id, runner, tables, how)
