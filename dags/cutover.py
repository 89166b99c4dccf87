"""This DAG switches applications over to the targets, after a person's approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.parts.approval import approval
from airflow_ddlrepl.dags.parts.dag import channel_dag, params, text
from airflow_ddlrepl.operators.cutover import CheckCutOverOperator, CutOverOperator
from airflow_ddlrepl.operators.messages.markdown import code

ACCEPT = "codes of what may be missing all the same, as the task check prints them, one per line: CUT-123"
COMPARE = "compares all tables before the approval, and once more after the last cycle"


def cutover_dag(channel: Channel, file: Path, **defaults: Any) -> DAG:
    """Return the DAG that a person starts to switch applications over: a check, an approval, the switch."""
    with channel_dag(
        channel,
        "cutover",
        defaults,
        description=f"Switches applications over to the targets of {channel.name}, after an approval",
        doc_md=_about(channel, file),
        params={
            "compare": Param(True, type="boolean", title="Compare all tables", description=COMPARE),
            "accept": text("Accept", ACCEPT),
        },
    ) as dag:
        where, options = str(file.absolute()), params("accept", "compare")
        check = CheckCutOverOperator(task_id="check", channel=where, **options)
        approve = approval(f"Switch applications over to the targets of {channel.name}?", of="check")
        cut_over = CutOverOperator(task_id="cut_over", channel=where, **options)
        check >> approve >> cut_over
    return dag


def _about(channel: Channel, file: Path) -> str:
    return f"""Switches applications over to the targets of channel **{channel.name}** ({code(file.name)}), as
`ddlrepl cutover --do` does. The task `check` fails with `CUT-102` when something is missing for it. `approve` waits for
a person (rejected after a day): stop the applications before you approve. `cut_over` runs the last cycle, makes sure
that nobody writes at the source, and stops the channel: later runs fail with `CUT-101`, until
`ddlrepl cutover {file.name} --undo` lets it go on.
"""
