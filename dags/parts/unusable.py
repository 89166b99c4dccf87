"""This DAG takes the place of a channel file which can't be used: name and documentation say what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from airflow.sdk import DAG

from airflow_ddlrepl.dags.parts.dag import BEGINNING
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.operators.messages.markdown import block, code
from airflow_ddlrepl.operators.unusable import ReportUnusableOperator

TAG = "unusable channel file"


@dataclass(frozen=True)
class Refusal:
    """A refusal is a channel file that can't be used, and why."""

    file: Path
    error: ConfigError


def unusable_dag(refused: Refusal) -> DAG:
    """Return a paused DAG in the place of a channel file until it can be used; a run of it fails with the reason.

    Airflow drops every DAG of a file that raises. So where one DAG file builds all channels, an error must be a DAG.
    """
    name, reason = refused.file.name, str(refused.error)
    with DAG(
        dag_id=f"ddlrepl__{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}__unusable",
        dag_display_name=f"{name} can't be used",
        description=reason.splitlines()[0],
        doc_md=f"The channel file {code(refused.file)} can't be used, so its DAGs are not here:\n\n{block(reason)}\n",
        start_date=BEGINNING,
        schedule=None,
        catchup=False,
        is_paused_upon_creation=True,
        auto_register=False,
        default_args={"owner": "ddlrepl"},
        tags=["ddlrepl", TAG],
    ) as dag:
        ReportUnusableOperator(task_id="report", reason=reason)
    return dag
