"""Tell a person of each trouble of a channel once, and once when it is over: `on_trouble` of the channel file."""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseNotifier, Context

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.repository.repository import Repository

log = logging.getLogger("airflow.task.ddlrepl")

OF_A_VERDICT = ("late", "bad")


@dataclass(frozen=True)
class Trouble:
    """A trouble is what an alert tells.

    level: late, waiting or bad. is_over: it was told before, and is over. remedy: in words, or a command to copy.
    since: when it was first seen, in ISO 8601. target, table: empty where it is about the whole channel.
    """

    channel: str
    level: str
    sentence: str
    reason: str = ""
    remedy: str = ""
    target: str = ""
    table: str = ""
    since: str = ""
    is_over: bool = False

    @property
    def key(self) -> str:
        """Return what makes it the same trouble later: not its words, which may hold numbers that change."""
        return json.dumps([self.level, self.target, self.table, self.reason if self.level == "waiting" else ""])


def troubles(health: Mapping[str, Any]) -> Iterator[Trouble]:
    """Yield the troubles of a channel by its health (`channel_health`): what waits, and what is bad or late."""
    channel = health["channel"]
    for one in health["waiting"]:
        remedy, number = one["remedy"], f" (control {one['number']})" if one["number"] is not None else ""
        yield Trouble(
            channel,
            "waiting",
            f"{one['what']}{number}",
            one["kind"] + number,
            _in_words(remedy),
            one["target"],
            one["table"],
        )
    verdicts = {"": health["verdict"], **{target["target"]: target["verdict"] for target in health["targets"]}}
    found = [
        Trouble(channel, one["level"], one["sentence"], one["reason"], _in_words(one["remedy"]), target)
        for target, one in verdicts.items()
        if one["level"] in OF_A_VERDICT
    ]
    yield from [one for one in found if one.target] or found  # the channel's verdict is that of its worst target


def _in_words(remedy: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (remedy["text"], remedy["command"])))


def tell_troubles(repository: Repository, channel: Channel, health: Mapping[str, Any], context: Context) -> None:
    """Tell `on_trouble` of the channel what has begun since the last time, and what is over.

    What it fails to take is tried again after the next stage.
    """
    if not channel.on_trouble or health["verdict"]["level"] == "unknown":
        return
    now = datetime.now(UTC)
    found = {one.key: one for one in troubles(health)}
    known = repository.notified_troubles(channel.name)
    for key, trouble in found.items():
        begun = Trouble(**{**asdict(trouble), "since": now.isoformat(timespec="seconds")})
        if (
            key not in known
            and repository.begin_trouble(channel.name, key, now, asdict(begun))
            and not _has_notified(channel.on_trouble, begun, context)
        ):
            repository.end_trouble(channel.name, key)
    for key, content in known.items():
        over = Trouble(**{**content, "is_over": True})
        if (
            key not in found
            and repository.end_trouble(channel.name, key)
            and not _has_notified(channel.on_trouble, over, context)
        ):
            repository.begin_trouble(channel.name, key, now, content)


def _has_notified(name: str, trouble: Trouble, context: Context) -> bool:
    try:
        listener_of(name)(trouble, context)
    except Exception as error:  # noqa: BLE001 - it is code of the user's
        log.error("on_trouble %s of channel %s failed: %s", name, trouble.channel, redact(str(error)))
        return False
    return True


def listener_of(name: str) -> Any:
    """Return a function of a trouble and Airflow's context that calls what `module:name` is.

    A notifier of Airflow's gets the trouble as `trouble` in its templates; a function gets it as its argument. Raises
    ConfigError CFG-407 when there is no such thing.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"on_trouble: {name} can't be imported: {error}",
            code="CFG-407",
            hint="write module:name of a function, or of a notifier of Airflow's, that Airflow's workers can import",
        ) from None
    if isinstance(found, BaseNotifier):
        return lambda trouble, context: found({**context, "trouble": trouble})
    return lambda trouble, context: found(trouble)
