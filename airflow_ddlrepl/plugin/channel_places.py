"""Find where a channel is: its repository, its schedule; its file is the one that the tasks of its DAG name."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from airflow.models.serialized_dag import SerializedDagModel
from croniter import croniter
from sqlalchemy import make_url

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.hooks.connections import stored_url
from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.notation.environment import expand
from airflow_ddlrepl.operators.messages.markdown import dag_id
from airflow_ddlrepl.plugin.readable_channels import KIND
from airflow_ddlrepl.repository.repository import Repository

FRESH_SECONDS = 30
"""So long what a DAG and a channel file say is not read again, and a repository that can't be opened is not tried."""

OTHER_MACHINE = (
    "set [ddlrepl] repository in the API server's configuration (a URL, or the id of an Airflow connection), or have"
    " the channel files under the same paths on its machine"
)


@dataclass(frozen=True)
class Place:
    """A place is where a channel is: its repository, its file as commands name it, and the seconds between two runs.

    interval: None: the channel has no schedule, or its file is not on this machine; then `channel` is None, too.
    """

    repository: Repository
    file: str
    interval: float | None
    channel: Channel | None = None


class ChannelPlaces:
    """The places of channels, remembered by one API server; requests in several threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, tuple[float, Place | DdlReplError]] = {}
        self._open: dict[str, Repository] = {}

    def place(self, channel: str) -> Place:
        """Return where a channel is. Raises DdlReplError, with what helps as its hint."""
        with self._lock:
            until, found = self._known.get(channel, (0.0, None))
            if found is None or time.monotonic() > until:
                found = self._found(channel)
                self._known[channel] = (time.monotonic() + FRESH_SECONDS, found)
        if isinstance(found, DdlReplError):
            raise found
        return found

    def _found(self, name: str) -> Place | DdlReplError:
        try:
            file = _file(name)
            location = option("repository")
            channel = _channel(name, file) if not location or Path(file).is_file() else None
            url = _url(location or (channel.repository if channel else ""))
            if url not in self._open:
                self._open[url] = Repository.as_it_is(url)
            return Place(self._open[url], file, _interval(channel), channel)
        except DdlReplError as error:
            return error


def _channel(name: str, file: str) -> Channel:
    if not Path(file).is_file():
        raise ConfigError(f"the API server has no channel file {file}", code="CFG-410", hint=OTHER_MACHINE)
    channel = load_channel(file)
    if channel.name != name:
        raise ConfigError(
            f"{file} describes channel {channel.name}, and the tasks of {dag_id(name, KIND)} name it",
            code="CFG-411",
            hint="wait until Airflow has read the channel file again",
        )
    return channel


def _interval(channel: Channel | None) -> float | None:
    """Return how many seconds lie between the next two points of a channel's schedule."""
    if channel is None or not channel.schedule:
        return None
    points = croniter(channel.schedule, datetime.now(UTC))
    first, second = points.get_next(float), points.get_next(float)
    return float(second - first)


def _file(name: str) -> str:
    """Return the channel file that the tasks of the channel's DAG name. Raises ConfigError CFG-410."""
    row = SerializedDagModel.get(dag_id(name, KIND))
    for task in _tasks(row.data if row is not None else None):
        file = task.get("channel")
        if isinstance(file, str) and file:
            return file
    raise ConfigError(f"the tasks of {dag_id(name, KIND)} name no channel file", code="CFG-410", hint=OTHER_MACHINE)


def _tasks(data: Any) -> list[dict[str, Any]]:
    """Return the fields of a serialized DAG's tasks."""
    found = json.loads(data) if isinstance(data, str) else data
    tasks = ((found or {}).get("dag") or {}).get("tasks") or []
    return [task.get("__var", task) for task in tasks]


def _url(location: str) -> str:
    """Return the URL of a repository that is there; a page makes none. Raises ConfigError."""
    text = expand(location).strip()
    if not text.startswith("sqlite:"):
        return stored_url(text)
    if not Repository.is_there(text):
        raise ConfigError(
            f"there is no repository {make_url(text).database} on the API server's machine",
            code="CFG-412",
            hint=f"before the first run there is none yet; where runs work on another machine, {OTHER_MACHINE}",
        )
    return text
