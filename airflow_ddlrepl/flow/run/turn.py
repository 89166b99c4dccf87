"""Runs of a channel take turns: a run that finds the channel locked can wait for it before it starts anything."""

from __future__ import annotations

import time
from collections.abc import Callable

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import LockHeld
from airflow_ddlrepl.repository.repository import Repository

PAUSE_SECONDS = 0.5


def wait_for_turn(channel: Channel, seconds: float, tell: Callable[[LockHeld], None] | None = None) -> LockHeld | None:
    """Wait until no other run works on the channel, at most so many seconds; return who still does then, else None.

    The channel is not locked here: another run may be faster. tell: called once for each run that is waited for.
    """
    end, told = time.monotonic() + seconds, ""
    with Repository.open(channel.repository) as repository:
        while (held := repository.holder_error(channel.name)) is not None and time.monotonic() < end:
            holder = repository.holder(channel.name) or ""
            if tell is not None and holder and holder != told:
                tell(held)
                told = holder
            time.sleep(PAUSE_SECONDS)
    return held
