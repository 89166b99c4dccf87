"""This DAG removes controls, for which a target waits, after a person's approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.approval import approval
from airflow_ddlrepl.dags.parts.dag import channel_dag, params
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.operators.messages.markdown import code

CONTROL = "its number, as `ddlrepl controls` prints it; empty: all controls that hold"


def controls_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts when a target waits: explain the controls, ask, remove them.

    Without an answer in time they stay.
    """
    with channel_dag(
        channel,
        "controls",
        defaults,
        description=f"Removes controls: targets of {channel.name} that wait for a person go on",
        doc_md=_about_controls(channel, file),
        params={"control": Param(None, type=["null", "integer"], minimum=1, title="Control", description=CONTROL)},
    ) as dag:
        where = str(file.absolute())
        explain = ExplainControlsOperator(task_id="explain", channel=where, **params("control"))
        approve = approval(f"Remove these controls of {channel.name}?", of="explain")
        remove = RemoveControlsOperator(
            task_id="remove", channel=where, controls=explain.output, approval=approve.output
        )
        explain >> approve >> remove
    return dag


def _about_controls(channel: Channel, file: Path) -> str:
    return f"""Controls of channel **{channel.name}** ({code(file.name)}): a policy `FAIL_INTEG_JOB` stops a target
before a schema change until a person has looked at it.

`explain` shows which controls hold and why, and fails when none does; `approve` waits for a person (rejected after a
day); `remove` removes those that were shown. The next run of `ddlrepl__{channel.name}__replicate` goes on past them.
"""
