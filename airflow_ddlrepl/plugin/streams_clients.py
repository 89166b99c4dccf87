"""The clients of Oracle Streams of a channel, by its file: who puts messages into a queue, and who takes them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.errors import ConfigError, RuleError
from airflow_ddlrepl.flow.streams.clients import CASE, kinds_of
from airflow_ddlrepl.hooks.connections import stored_url
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.environment import expand
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.procedures.run import environment_of

_known: dict[str, list[dict[str, Any]]] = {}
MOST = 100


def streams_clients(channel: Channel | None, repository: Repository) -> list[dict[str, Any]]:
    """Return kind, name, queue and destination of each client; none where the file is not here or its rules fail.

    Thousands of rules take seconds to be read, so the clients of a file are found once.
    """
    if channel is None or channel.streams is None:
        return []
    key = channel.fingerprint()
    try:
        if key not in _known:
            if len(_known) >= MOST:
                _known.clear()
            _known[key] = _found(channel, channel.streams, repository)
        return _known[key]
    except (RuleError, ConfigError):  # the runs say so; the picture goes without
        return []


def _found(channel: Channel, section: Streams, repository: Repository) -> list[dict[str, Any]]:
    revisions = repository.latest_revisions(channel.name).values()
    columns = _columns(channel, [one.table for one in revisions if one.table is not None])
    return [
        {"kind": str(one.kind), "name": one.name, "queue": one.queue, "destination": one.destination}
        for one in environment_of(section, CASE, columns).clients.values()
    ]


def _columns(channel: Channel, tables: Sequence[Table]) -> dict[str, Mapping[str, Kind]]:
    """Return the columns that conditions of rules can read, by table; the source itself is not asked."""
    if not tables:
        return {}
    values = engine(stored_url(expand(channel.source.location).strip())).values
    return {f"{one.name.schema}.{one.name.name}": kinds_of(one, values) for one in tables}
