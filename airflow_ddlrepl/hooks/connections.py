"""Airflow's connections for programs that have no Airflow: a file that only its owner may read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook, Connection

from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.config.environment import expand
from airflow_ddlrepl.spark.private_file import private_file

VARIABLE = "DDLREPL_CONNECTIONS_FILE"
FIELDS = ("conn_type", "host", "login", "password", "port", "schema", "extra")


def connection_ids(channel: Channel) -> list[str]:
    """Those locations of the channel, its repository's too, that are connection ids, not URLs."""
    locations = [channel.source.location, channel.repository, *(target.location for target in channel.places)]
    named = {expand(location).strip() for location in locations}
    return sorted(text for text in named if re.fullmatch(r"[A-Za-z0-9_.-]+", text))


@contextmanager
def connections_file(channel: Channel) -> Iterator[Path | None]:
    """The channel's connections as a file that this process and those it starts know by DDLREPL_CONNECTIONS_FILE.

    It is gone when the block ends. None when the channel names no connection: then nothing changes. A connection
    that Airflow does not know stays out of the file: the error that follows says which one, and how to add it.
    """
    found = {name: fields for name in connection_ids(channel) if (fields := _fields(name)) is not None}
    if not found:
        yield None
        return
    before = os.environ.get(VARIABLE)
    with private_file(json.dumps(found), ".connections") as path:
        try:
            os.environ[VARIABLE] = str(path)
            yield path
        finally:
            os.environ.pop(VARIABLE, None)
            if before is not None:
                os.environ[VARIABLE] = before


def find_connection(name: str) -> Connection | None:
    """Airflow's connection of that id, or None."""
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None


def _fields(name: str) -> dict[str, Any] | None:
    connection = find_connection(name)
    if connection is None:
        return None
    return {field: getattr(connection, field) for field in FIELDS if getattr(connection, field) is not None}
