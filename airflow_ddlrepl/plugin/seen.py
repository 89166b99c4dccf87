"""What a user sees: the health of the channels whose DAG they may read, and nothing about others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from fastapi import HTTPException

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.health.facts import HISTORY
from airflow_ddlrepl.flow.health.verdict import Level
from airflow_ddlrepl.plugin.health import HEALTH
from airflow_ddlrepl.plugin.pending_approvals import pending_approvals
from airflow_ddlrepl.plugin.readable_channels import readable_channels

T = TypeVar("T")
HOURS = HISTORY // timedelta(hours=1)
"""So many hours of the history are shown unless somebody asks for others."""

MISSING = "There is no such channel, or you may not read its DAG in Airflow."


def seen_channels(user: Any) -> list[dict[str, Any]]:
    """Return a summary of each channel that the user may see, those in trouble first."""
    channels = readable_channels(user)
    asked = pending_approvals(user, channels)
    found = [
        {**one, "waiting": one["waiting"] + len(asked.get(one["channel"], ()))} for one in HEALTH.summaries(channels)
    ]
    return sorted(found, key=_level, reverse=True)


def one_channel(channel: str, user: Any, hours: int = HOURS) -> dict[str, Any]:
    """Return the health of a channel. Raises HTTPException 404, the same whether it is there or not.

    hours: of its history.
    """
    _require(channel, user)
    found = HEALTH.channel(channel)
    if hours != HOURS and found["source"] is not None:
        found = {**found, "history": _answered(lambda: HEALTH.history(channel, hours))}
    return {**found, "waiting": [*found["waiting"], *pending_approvals(user, [channel]).get(channel, ())]}


def one_table(channel: str, table_id: int, user: Any) -> dict[str, Any]:
    """Return the history of a table. Raises HTTPException 404."""
    _require(channel, user)
    found = _answered(lambda: HEALTH.table(channel, table_id))
    if not found["revisions"] and all(one["table_id"] != table_id for one in HEALTH.channel(channel)["tables"]):
        raise HTTPException(404, "There is no such table in this channel.")
    return found


def one_run(channel: str, run_id: str, user: Any) -> dict[str, Any]:
    """Return the SQL that a run has executed at the targets. Raises HTTPException 404."""
    _require(channel, user)
    return _answered(lambda: HEALTH.executed(channel, run_id))


def _answered(ask: Callable[[], T]) -> T:
    """Return the answer. Raises HTTPException 503 where the repository has none."""
    try:
        return ask()
    except DdlReplError as error:
        raise HTTPException(503, f"{error.code}: {error.message}") from None


def _level(summary: dict[str, Any]) -> int:
    return Level(summary["verdict"]["level"]).rank


def _require(channel: str, user: Any) -> None:
    if channel not in readable_channels(user):
        raise HTTPException(404, MISSING)
