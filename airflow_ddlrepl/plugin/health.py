"""What a request is answered with: the health of channels, read from their repositories and kept for a moment.

Many people may look at a page that asks every few seconds; a repository is asked once for all of them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TypeVar

from airflow_ddlrepl.errors import DdlReplError, Unreachable
from airflow_ddlrepl.flow.health.channel import channel_health, lag_history
from airflow_ddlrepl.flow.health.history import table_history
from airflow_ddlrepl.flow.health.newest_changes import newest_changes
from airflow_ddlrepl.flow.health.on_its_way import on_its_way, table_errors
from airflow_ddlrepl.plugin.channel_places import ChannelPlaces, Place
from airflow_ddlrepl.plugin.streams_clients import streams_clients
from airflow_ddlrepl.repository.repository import Repository

T = TypeVar("T")
FRESH_SECONDS, FAILED_SECONDS = 2, 15
"""So long an answer is given again; and so long a repository that did not answer is not asked again."""

MOST_KEPT = 500
MOST_TABLES = 1_000_000  # of a channel at its targets: the pages search and cut the list


class Health:
    """The health of all channels, as one API server knows it; requests in several threads share it."""

    def __init__(self) -> None:
        self._places = ChannelPlaces()
        self._away: dict[int, tuple[float, Unreachable]] = {}
        self._kept: dict[Hashable, tuple[float, Any]] = {}
        self._locks: defaultdict[Hashable, Lock] = defaultdict(Lock)

    def summaries(self, channels: list[str]) -> list[dict[str, Any]]:
        """Return each channel's name and verdicts, in this order."""
        return [_summary(self.channel(one)) for one in channels]

    def channel(self, channel: str) -> dict[str, Any]:
        """Return all that is known of a channel; where its repository can't be read, why."""
        return self._fresh(("channel", channel), lambda: self._channel(channel))

    def table(self, channel: str, table_id: int) -> dict[str, Any]:
        """Return the history of a table; one that the channel does not have has no revisions. Raises DdlReplError."""
        place = self._places.place(channel)
        return self._fresh((channel, table_id), lambda: _table(place.repository, channel, table_id))

    def history(self, channel: str, hours: int) -> list[dict[str, Any]]:
        """Return how far the targets of a channel were behind in the last hours. Raises DdlReplError."""
        place = self._places.place(channel)
        self._require_answering(place)
        return self._fresh(
            ("history", channel, hours), lambda: lag_history(place.repository, channel, datetime.now(UTC), hours)
        )

    def _channel(self, channel: str) -> dict[str, Any]:
        try:
            place = self._places.place(channel)
            self._require_answering(place)
            return self._read(channel, place)
        except DdlReplError as error:
            return unread(channel, error)

    def _read(self, channel: str, place: Place) -> dict[str, Any]:
        try:
            found = channel_health(
                place.repository, channel, datetime.now(UTC),
                interval=place.interval, file=place.file, tables=MOST_TABLES,
            )  # fmt: skip
            clients = streams_clients(place.channel, place.repository)
            changes = newest_changes(place.repository, channel)
            return {**found, "changes": changes, "clients": clients, "file": place.file}
        except Unreachable as error:
            self._away[id(place.repository)] = (time.monotonic() + FAILED_SECONDS, error)
            raise

    def _require_answering(self, place: Place) -> None:
        """Raise the error of a repository that did not answer just now: many channels may be in it."""
        until, error = self._away.get(id(place.repository), (0.0, None))
        if error is not None and time.monotonic() < until:
            raise error

    def _fresh(self, key: Hashable, ask: Callable[[], T]) -> T:
        """Return the answer that was given just now, else a new one; who comes meanwhile waits for it."""
        with self._locks[key]:
            until, found = self._kept.get(key, (0.0, None))
            if time.monotonic() > until:
                found = ask()
                if len(self._kept) > MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = (time.monotonic() + FRESH_SECONDS, found)
            answer: T = found
            return answer


def _table(repository: Repository, channel: str, table_id: int) -> dict[str, Any]:
    found = table_history(repository, channel, table_id)
    return {
        **found,
        "on_its_way": on_its_way(repository, channel, table_id, datetime.now(UTC)),
        "errors": table_errors(repository, channel, found["names"]),
    }


def _summary(health: dict[str, Any]) -> dict[str, Any]:
    return {name: health[name] for name in ("channel", "verdict", "targets", "status", "running")} | {
        "waiting": len(health["waiting"])
    }


def unread(channel: str, error: DdlReplError) -> dict[str, Any]:
    """Return what is said of a channel whose repository can't be read."""
    verdict = {
        "level": "unknown",
        "sentence": "this page can't read its repository",
        "reason": f"{error.code}: {error.message}",
        "remedy": {"text": error.hint, "command": "", "dag": "", "conf": {}},
        "as_of": None,
        "age_seconds": None,
    }
    lists: dict[str, Any] = {name: [] for name in ("targets", "tables", "waiting", "history", "changes", "apply")}
    return {"channel": channel, "verdict": verdict, "status": None, "running": None, "source": None, **lists}


HEALTH = Health()
