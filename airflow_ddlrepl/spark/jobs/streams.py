"""These jobs run the stages of clients of Streams: synchronous captures, propagations, apply processes."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.jobs.run_stage import run_stage


def sync_capture(channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
    """Bring what triggers have captured into its queues; return what was done, ready for JSON."""
    return run_stage("sync_capture", channel, run_id, runner)


def propagate(channel: Channel, run_id: str, runner: Runner, *, propagation: str = "") -> dict[str, Any]:
    """Pass messages on and return what was done, ready for JSON. propagation: one of them; empty: all.

    Raises RuleError RUL-113 when there is none of this name.
    """
    return run_stage("propagate", channel, run_id, runner, [propagation] if propagation else [])


def apply(channel: Channel, run_id: str, runner: Runner, *, target: str = "") -> dict[str, Any]:
    """Apply what is in queues and return what was done, ready for JSON. target: only this one; empty: all."""
    return run_stage("apply_queues", channel, run_id, runner, target)
