"""This Spark app builds tables as of an earlier moment in a replay, or lets a target go back and forward again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.notation.moment import parse_until
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(
    channel: Channel,
    run_id: str,
    runner: Runner,
    *,
    to: str,
    into: str,
    tables: Sequence[str] = (),
    onward: bool = False,
) -> dict[str, Any]:
    """Rewind and return what was done, ready for JSON.

    Raises ConfigError CFG-110 or CFG-111 when `to` is neither moment nor position.
    """
    moment = parse_until(to, source_engine(channel).positions)
    return run_stage("rewind", channel, run_id, runner, moment, into, tables, onward=onward)
