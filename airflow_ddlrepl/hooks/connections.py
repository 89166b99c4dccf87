"""Pass Airflow's connections to programs without Airflow, in a file that only its owner may read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook, Connection

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import VARIABLE, from_connection, from_file, resolve
from airflow_ddlrepl.notation.environment import expand
from airflow_ddlrepl.spark.session.secret_file import private_file

ID = r"[A-Za-z0-9_.-]+"
FIELDS = ("conn_type", "host", "login", "password", "port", "schema", "extra")


def connection_ids(channel: Channel) -> list[str]:
    """Return the locations of the channel and its repository that are connection ids, not URLs."""
    locations = [
        channel.source.location,
        channel.repository,
        *(target.location for target in channel.targets_and_replays),
    ]
    named = {expand(location).strip() for location in locations}
    return sorted(text for text in named if re.fullmatch(ID, text))


def find_connection(name: str) -> Connection | None:
    """Return Airflow's connection of that id as a task gets it, or None."""
    from airflow.sdk.exceptions import AirflowNotFoundException

    try:
        return BaseHook.get_connection(name)
    except AirflowNotFoundException:
        return None


def stored_connection(name: str) -> Any:
    """Return Airflow's connection of that id in a process that is no task, such as an `airflow` command; or None.

    Airflow looks into its secrets backends, the environment and its metadata database, in this order.
    """
    from airflow.exceptions import AirflowNotFoundException
    from airflow.models.connection import Connection

    try:
        return Connection.get_connection_from_secrets(name)
    except AirflowNotFoundException:
        return None


@contextmanager
def connections_file(channel: Channel, find: Callable[[str], Any | None] | None = None) -> Iterator[Path | None]:
    """Write the channel's connections to a file that this process and those it starts know by DDLREPL_CONNECTIONS_FILE.

    The file is removed when the block ends. None when the channel names no connection: then nothing changes. A
    connection that Airflow does not know is taken from the file that the variable names already. One that is not there
    either is null in the file, and the error that follows says that Airflow was asked. find: how Airflow is asked, by
    default as tasks ask it.
    """
    names = connection_ids(channel)
    if not names:
        yield None
        return
    found = {name: connection_fields((find or find_connection)(name)) or from_file(name) for name in names}
    before = os.environ.get(VARIABLE)
    with private_file(json.dumps(found), ".connections") as path:
        try:
            os.environ[VARIABLE] = str(path)
            yield path
        finally:
            os.environ.pop(VARIABLE, None)
            if before is not None:
                os.environ[VARIABLE] = before


def connection_fields(connection: Any | None) -> dict[str, Any] | None:
    """Return the fields of a connection as Airflow's JSON form has them; None without a connection."""
    if connection is None:
        return None
    return {field: getattr(connection, field) for field in FIELDS if getattr(connection, field) is not None}


def stored_url(location: str) -> str:
    """Return the libpq URL of a location in a process that is no task: as it stands there, or of Airflow's connection.

    Raises ConfigError CFG-103 when Airflow has no connection of that id, CFG-104 when it can't be used.
    """
    connection = stored_connection(location) if re.fullmatch(ID, location) else None
    if connection is None:
        return resolve(location)
    return from_connection(json.dumps(connection_fields(connection)), location)
