"""The last status of a channel is shown where a run has failed: by the repository alone, which every worker reaches."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.health.channel import channel_line
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.repository.repository import Repository


def last_status(channel: Channel) -> dict[str, Any] | None:
    """Return the newest stored status, with its moment and the verdict of now; None: none was ever stored.

    Raises Unreachable or RepositoryError.
    """
    if not Repository.is_there(channel.repository):
        return None
    with Repository.open(channel.repository) as repository:
        row = repository.stored_status(channel.name)
        if row is None or row.content is None:
            return None
        told = {"taken": moment_text(row.taken), "run": row.run_id, "stage": row.stage, "reason": row.reason}
        return {**row.content, **told, "verdict": channel_line(repository, channel.name, datetime.now(UTC))["verdict"]}
