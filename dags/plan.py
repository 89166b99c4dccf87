"""This DAG shows what the next cycle would do to the targets' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.approval import approval
from airflow_ddlrepl.dags.parts.dag import channel_dag
from airflow_ddlrepl.operators.messages.markdown import code, dag_id
from airflow_ddlrepl.operators.plan import PlanOperator

ASK = "shows the plan and asks a person; after an approval a run of the replicate DAG starts"


def plan_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts to see the plan; on request it asks, then starts the replicate DAG."""
    with channel_dag(
        channel,
        "plan",
        defaults,
        description=f"Shows what the next cycle of {channel.name} would do to the targets' tables; changes nothing",
        doc_md=_about(channel, file),
        params={"ask": Param(False, type="boolean", title="Replicate after an approval", description=ASK)},
    ) as dag:
        plan = PlanOperator(task_id="plan", channel=str(file.absolute()))
        approve = approval(f"Run the next cycle of {channel.name} by this plan?", of="plan", wanted="{{ params.ask }}")
        replicate = TriggerDagRunOperator(task_id="replicate", trigger_dag_id=dag_id(channel.name, "replicate"))
        plan >> approve >> replicate
    return dag


def _about(channel: Channel, file: Path) -> str:
    return f"""What the next cycle of channel **{channel.name}** ({code(file.name)}) would do to the targets' tables:
the exact SQL, its hazards, the rows that a refresh would move, as `ddlrepl plan` prints it. Nothing is changed. The log
of `plan` has it.

With `ask` the task `approve` shows the plan and waits for a person (rejected after a day); approved, `replicate` starts
a run of `ddlrepl__{channel.name}__replicate`, which also takes what has been committed since.
"""
