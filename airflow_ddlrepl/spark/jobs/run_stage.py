"""Run a stage of a channel as a job: the part of every Spark app between its arguments and its result."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.stages import STAGES
from airflow_ddlrepl.ports.work import Runner

WAIT_SECONDS = 20.0


def run_stage(stage: str, channel: Channel, run_id: str, runner: Runner, **arguments: Any) -> dict[str, Any]:
    """Run the stage under the channel's lock and return its summary, ready for JSON.

    stage: its name in `flow/stages.py`, which has its arguments, too. run_id: who holds the lock, for a person to read.
    While another run holds it, the stage waits, then raises LockHeld LCK-101: the task that has started it tries again
    later.
    """
    with flow.RunContext(channel, runner, run_id) as run:
        run.wait_seconds, run.comes_again = WAIT_SECONDS, True
        return dict(STAGES[stage].function(run, **arguments).to_json())
