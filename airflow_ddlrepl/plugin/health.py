"""What a request is answered with: the health of channels, read from their repositories and kept for a moment.

Many people may look at a page that asks every few seconds; a repository is asked once for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from airflow_ddlrepl.errors import DdlReplError, Unreachable
from airflow_ddlrepl.flow.health.channel import channel_health, channel_line, lag_history
from airflow_ddlrepl.flow.health.executed import executed_sql
from airflow_ddlrepl.flow.health.history import table_history
from airflow_ddlrepl.flow.health.newest_changes import newest_changes
from airflow_ddlrepl.flow.health.on_its_way import on_its_way, rows_in_error_queues, table_errors
from airflow_ddlrepl.flow.health.verdict import Level, Remedy, Verdict
from airflow_ddlrepl.plugin.channel_places import ChannelPlaces, Place

T = TypeVar("T")
FRESH_SECONDS, FAILED_SECONDS = 2, 15
"""So long an answer is given again; and so long a repository that did not answer is not asked again."""

MOST_KEPT = 500
LOCKS = 64
LISTS = ("targets", "tables", "waiting", "history", "changes", "apply", "clients", "queues")
MOST_TABLES = 1_000_000  # of a channel at its targets: the pages search and cut the list


class Health:
    """The health of all channels, as one API server knows it; requests in several threads share it."""

    def __init__(self) -> None:
        self._places = ChannelPlaces()
        self._away: dict[int, tuple[float, Unreachable]] = {}
        self._kept: dict[Hashable, tuple[float, Any]] = {}
        self._locks = [Lock() for _ in range(LOCKS)]

    def summaries(self, channels: list[str]) -> list[dict[str, Any]]:
        """Return each channel's name and verdicts, in this order."""
        return [self._fresh(("line", one), partial(self._line, one)) for one in channels]

    def channel(self, channel: str) -> dict[str, Any]:
        """Return all that is known of a channel; where its repository can't be read, why."""
        return self._fresh(("channel", channel), partial(self._channel, channel))

    def table(self, channel: str, table_id: int) -> dict[str, Any]:
        """Return the history of a table; one that the channel does not have has no revisions. Raises DdlReplError."""
        return self._fresh(
            ("table", channel, table_id),
            partial(self._ask_repository, channel, lambda at: _table(at, channel, table_id)),
        )

    def executed(self, channel: str, run_id: str) -> dict[str, Any]:
        """Return the SQL that a run has executed at the targets. Raises DdlReplError."""
        ask = partial(self._ask_repository, channel, lambda at: executed_sql(at.repository, channel, run_id))
        return self._fresh(("run", channel, run_id), ask)

    def history(self, channel: str, hours: int) -> list[dict[str, Any]]:
        """Return how far the targets of a channel were behind in the last hours. Raises DdlReplError."""
        return self._fresh(
            ("history", channel, hours),
            partial(
                self._ask_repository, channel, lambda at: lag_history(at.repository, channel, datetime.now(UTC), hours)
            ),
        )

    def _ask_repository(self, channel: str, ask: Callable[[Place], T]) -> T:
        """Return what the repository of a channel answers; one that did not just now is not asked again so soon."""
        place = self._places.place(channel)
        until, away = self._away.get(id(place.repository), (0.0, None))
        if away is not None and time.monotonic() < until:
            raise away
        try:
            return ask(place)
        except Unreachable as error:
            self._away[id(place.repository)] = (time.monotonic() + FAILED_SECONDS, error)
            raise

    def _line(self, channel: str) -> dict[str, Any]:
        try:
            return self._ask_repository(channel, lambda place: _line(place, channel))
        except DdlReplError as error:
            return {**unread(channel, error), "waiting": 0}

    def _channel(self, channel: str) -> dict[str, Any]:
        try:
            return self._ask_repository(channel, lambda place: _whole(place, channel))
        except DdlReplError as error:
            return unread(channel, error)

    def _fresh(self, key: Hashable, ask: Callable[[], T]) -> T:
        """Return the answer that was given just now, else a new one; who comes meanwhile waits for it."""
        with self._locks[hash(key) % LOCKS]:
            until, found = self._kept.get(key, (0.0, None))
            if time.monotonic() > until:
                found = ask()
                if len(self._kept) > MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = (time.monotonic() + FRESH_SECONDS, found)
            answer: T = found
            return answer


def _line(place: Place, channel: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return channel_line(place.repository, channel, now, interval=place.interval, file=place.file)


def _whole(place: Place, channel: str) -> dict[str, Any]:
    repository, now = place.repository, datetime.now(UTC)
    found = channel_health(repository, channel, now, interval=place.interval, file=place.file, tables=MOST_TABLES)
    return {**found, "changes": newest_changes(repository, channel), "file": place.file}


def _table(place: Place, channel: str, table_id: int) -> dict[str, Any]:
    repository = place.repository
    found = table_history(repository, channel, table_id)
    fingerprint = place.channel.fingerprint() if place.channel is not None else None
    return {
        **found,
        "on_its_way": on_its_way(repository, channel, table_id, datetime.now(UTC), fingerprint),
        "queued": rows_in_error_queues(repository, channel, table_id, found["names"]),
        "errors": table_errors(repository, channel, found["names"]),
    }


def unread(channel: str, error: DdlReplError) -> dict[str, Any]:
    """Return what is said of a channel whose repository can't be read."""
    why, help_ = f"{error.code}: {error.message}", Remedy(error.hint)
    verdict = Verdict(Level.UNKNOWN, "this page can't read its repository", why, help_).to_json(datetime.now(UTC))
    lists: dict[str, Any] = {name: [] for name in LISTS}
    return {"channel": channel, "verdict": verdict, "status": None, "running": None, "source": None, **lists}


HEALTH = Health()
