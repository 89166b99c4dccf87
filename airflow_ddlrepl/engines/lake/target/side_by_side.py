"""This module does work for several tables side by side: to plan a small merge takes longer than to run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

MOST = 16
"""So many threads work at most, however large the cluster is: all of them plan on the driver."""
Item = TypeVar("Item")


def side_by_side(work: Callable[[Item], None], items: Sequence[Item], threads: int) -> None:
    """Do the work for each item, in up to so many threads.

    An error of one keeps the others from beginning. What has begun ends first; then the error of the first item with
    one, in the order of the items, is raised.
    """
    if len(items) < 2:
        for item in items:
            work(item)
        return
    failed = Event()

    def one(item: Item) -> None:
        if not failed.is_set():
            try:
                work(item)
            except BaseException:
                failed.set()
                raise

    with ThreadPoolExecutor(min(threads, MOST, len(items)), thread_name_prefix="ddlrepl-merge") as pool:
        begun = [pool.submit(one, item) for item in items]
    for done in begun:
        done.result()
