"""This module makes the task of a DAG that asks a person before anything is done."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from airflow_ddlrepl.operators.approve import ApproveWhenOperator

ANSWER_WITHIN = timedelta(days=1)


def approval(subject: str, *, of: str, wanted: str = "") -> ApprovalOperator:
    """Return the task `approve`, which shows what the task `of` has found and waits a day; unanswered it is rejected.

    wanted: a template that says whether there is anything to ask; without it a person is always asked.
    """
    shown: dict[str, Any] = {
        "task_id": "approve",
        "subject": subject,
        "body": f"{{{{ ti.xcom_pull(task_ids='{of}', key='text') }}}}",
        "defaults": "Reject",
        "response_timeout": ANSWER_WITHIN,
    }
    return ApproveWhenOperator(wanted=wanted, **shown) if wanted else ApprovalOperator(**shown)
