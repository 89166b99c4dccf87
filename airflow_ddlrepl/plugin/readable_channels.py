"""Who may read a channel's DAG in Airflow sees the channel; to anybody else the channel does not exist.

Airflow calls this part of its API internal: all of it that we use is in this module and in `channel_places`.
"""

from __future__ import annotations

from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from fastapi import Depends
from sqlalchemy import select

from airflow_ddlrepl.operators.messages.markdown import dag_id

PREFIX, KIND = "ddlrepl__", "replicate"

User = Annotated[Any, Depends(get_user)]
"""The user that Airflow's cookie or token names; without one the answer is 401."""


def readable_channels(user: Any) -> list[str]:
    """Return the names of the channels whose DAG `replicate` the user may read, in the order of the names."""
    allowed = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
    found = {dag: channel_of(dag) for dag in allowed & _known_dags()}
    return sorted(name for dag, name in found.items() if name and dag == dag_id(name, KIND))


def channel_of(dag: str) -> str:
    """Return the channel that a DAG's id names; empty when it is no id of a channel's DAG."""
    channel, _, kind = dag.removeprefix(PREFIX).rpartition("__")
    return channel if dag.startswith(PREFIX) and kind else ""


def is_paused(dag: str) -> bool:
    """Return whether a DAG is paused, so that none of its runs starts by its schedule."""
    with create_session() as session:
        return bool(session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == dag)))


def _known_dags() -> set[str]:
    """Return the ids of DAGs that Airflow has read in one of its last rounds: those of removed files are not there."""
    with create_session() as session:
        query = select(DagModel.dag_id).where(DagModel.is_stale.is_(False), DagModel.dag_id.startswith(PREFIX))
        return set(session.scalars(query))
