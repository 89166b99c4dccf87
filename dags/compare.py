"""This DAG compares source and targets, and repairs what differs after a person's approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.approval import approval
from airflow_ddlrepl.dags.parts.dag import TABLES, channel_dag, params, text
from airflow_ddlrepl.operators.compare import CompareOperator, RepairOperator
from airflow_ddlrepl.operators.messages.markdown import code

REPAIR = "shows what differs and asks; without it the run fails when anything does"


def compare_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts to compare source and targets, and to repair them after an approval."""
    with channel_dag(
        channel,
        "compare",
        defaults,
        description=f"Compares the tables of {channel.name}; repairs what differs when it is asked to",
        doc_md=_about(channel, file),
        params={
            "tables": text("Tables", TABLES),
            "repair": Param(False, type="boolean", title="Repair what differs, after an approval", description=REPAIR),
        },
    ) as dag:
        where, tables = str(file.absolute()), params("tables")
        then = "{{ 'go_on' if params.repair else 'fail' }}"
        compare = CompareOperator(task_id="compare", channel=where, on_difference=then, **tables)
        approve = approval(
            f"Repair the tables of {channel.name} that differ?",
            of="compare",
            wanted="{{ ti.xcom_pull(task_ids='compare')['differences'] }}",
        )
        repair = RepairOperator(task_id="repair", channel=where, **tables)
        compare >> approve >> repair
    return dag


def _about(channel: Channel, file: Path) -> str:
    return f"""Compares the tables of channel **{channel.name}** ({code(file.name)}) at source and targets, columns and
rows, as `ddlrepl compare` does. What is not replicated yet is counted apart: it is no difference.

Without `repair` the run fails when anything differs (`CMP-101`). With `repair` the task `approve` shows what differs
and waits for a person (rejected after a day), `repair` writes the differing rows and compares again. Where nothing
differs both are skipped.
"""
