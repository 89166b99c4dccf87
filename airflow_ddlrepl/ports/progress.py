"""Progress tells in the log how many of many tables are done, every few seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from typing import TypeVar

SECONDS = 3.0
log = logging.getLogger("ddlrepl")
Item = TypeVar("Item")


def each(items: Collection[Item], what: str, seconds: float | None = None) -> Iterator[Item]:
    """Yield the items, and log how many of them are done whenever so many seconds have gone by.

    what: is done with them, as in "12 of 1500 tables are set up at the source". seconds: None: `SECONDS`.
    """
    pause = SECONDS if seconds is None else seconds
    told = time.monotonic()
    for number, item in enumerate(items):
        if time.monotonic() - told >= pause:
            log.info("%d of %d %s", number, len(items), what)
            told = time.monotonic()
        yield item
