"""This Spark app passes messages of a queue of Streams on to another queue."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def run(channel: Channel, run_id: str, runner: Runner, *, propagation: str = "") -> dict[str, Any]:
    """Pass messages on and return what was done, ready for JSON. propagation: one of them; empty: all.

    Raises RuleError RUL-113 when there is none of this name.
    """
    return run_stage("propagate", channel, run_id, runner, [propagation] if propagation else [])
