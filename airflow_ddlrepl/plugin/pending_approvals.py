"""Approvals of Airflow that wait for an answer, in the DAGs of channels; who may not read them there gets none.

Airflow calls this part of its API internal, as what `readable_channels` uses.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.plugin.readable_channels import PREFIX, channel_of

PARKED = ("awaiting_input", "deferred")
"""A task in one of these states goes on with the answer."""

MOST = 200


def pending_approvals(user: Any, channels: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """Return what waits for an answer in Airflow, by channel, as the list of what waits for a person has it.

    `link`: the way from Airflow's root to the page with the question.
    """
    query = (
        select(
            TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id, HITLDetail.subject, HITLDetail.created_at
        )
        .join(HITLDetail, HITLDetail.ti_id == TaskInstance.id)
        .where(HITLDetail.responded_at.is_(None), TaskInstance.state.in_(PARKED))
        .where(TaskInstance.dag_id.startswith(PREFIX, autoescape=True))
        .order_by(HITLDetail.created_at)
        .limit(MOST)
    )
    with create_session() as session:
        rows = [row for row in session.execute(query) if channel_of(row.dag_id) in channels]
    readable = {dag: _may_read(dag, user) for dag in {row.dag_id for row in rows}}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if readable[row.dag_id]:
            found.setdefault(channel_of(row.dag_id), []).append(_approval(row))
    return found


def _may_read(dag: str, user: Any) -> bool:
    details = DagDetails(id=dag)
    asked: dict[str, Any] = {"method": "GET", "access_entity": DagAccessEntity.HITL_DETAIL, "details": details}
    return bool(get_auth_manager().is_authorized_dag(user=user, **asked))


def _approval(row: Any) -> dict[str, Any]:
    places = [quote(one, safe="") for one in (row.dag_id, row.run_id, row.task_id)]
    return {
        "kind": "approval",
        "what": row.subject,
        "why": f"task {row.task_id} of run {row.run_id} waits for an answer in Airflow",
        "target": "",
        "table": "",
        "since": moment_text(row.created_at),
        "remedy": {"text": "", "command": "", "dag": "", "conf": {}},
        "number": None,
        "link": "dags/{}/runs/{}/tasks/{}/required_actions".format(*places),
    }
