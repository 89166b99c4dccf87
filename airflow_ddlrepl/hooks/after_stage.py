"""After a task of a channel, whatever its end, metrics and alerts go out; nothing of it fails the task."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Context

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import LockHeld
from airflow_ddlrepl.flow.health.channel import channel_health
from airflow_ddlrepl.hooks.alerts import tell_troubles
from airflow_ddlrepl.hooks.metrics import Sample, are_on, samples_of_health, samples_of_stage, send
from airflow_ddlrepl.repository.repository import Repository

log = logging.getLogger("airflow.task.ddlrepl")


@contextmanager
def reported(channel: Channel, file: str, stage: str, context: Context) -> Iterator[dict[str, Any]]:
    """Yield a mapping that takes the stage's result; at the end send its metrics and the channel's, and its alerts.

    file: the channel file, as commands in alerts name it. A stage that waits for another run has not ended.
    """
    started, result = time.monotonic(), dict[str, Any]()
    try:
        yield result
    except LockHeld:
        raise
    except BaseException:
        _report(channel, file, samples_of_stage(channel.name, stage, time.monotonic() - started, None), context)
        raise
    _report(channel, file, samples_of_stage(channel.name, stage, time.monotonic() - started, result), context)


def _report(channel: Channel, file: str, samples: Iterator[Sample], context: Context) -> None:
    if not (are_on() or channel.on_trouble):
        return
    try:
        send(samples)
        if not Repository.is_there(channel.repository):
            return
        with Repository.open(channel.repository) as repository:
            health = channel_health(repository, channel.name, datetime.now(UTC), file=file, tables=0)
            send(samples_of_health(health))
            tell_troubles(repository, channel, health, context)
    except Exception as error:  # noqa: BLE001 - whatever it is, the stage's own end is what counts
        log.warning("metrics and alerts of channel %s: %s", channel.name, redact(str(error)))
