"""This Spark app compares the tables of source and targets, and on request writes the rows that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner, *, tables: Sequence[str] = ()) -> dict[str, Any]:
    """Return what differs, ready for JSON. tables: patterns; none: all of the channel."""
    return run_stage("compare", channel, run_id, runner, tables)


def repair(channel: Channel, run_id: str, runner: Runner, *, tables: Sequence[str] = ()) -> dict[str, Any]:
    """Write what differs, row by row, and return what differs afterwards, ready for JSON."""
    return run_stage("repair", channel, run_id, runner, tables)
