"""Log the progress of a running map(): a line when the number of finished tasks has grown, at most one per pause."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

PAUSE = 5.0


@contextmanager
def log_progress(spark: SparkSession, label: str, total: int, pause: float = PAUSE) -> Iterator[None]:
    """Log lines such as "capture: 3 of 8 tasks" while the block runs, and its duration at the end.

    Spark Connect has no status tracker: there only the end is logged.
    """
    start = time.monotonic()
    done = threading.Event()
    tracker = _tracker(spark)
    watcher = None
    if tracker is not None:
        group = f"ddlrepl-{label}-{start:.6f}"
        spark.sparkContext.setJobGroup(group, label)
        watcher = threading.Thread(target=_report, args=(tracker, group, label, total, done, pause), daemon=True)
        watcher.start()
    try:
        yield
        log.info("%s: %d of %d tasks in %.1f s", label, total, total, time.monotonic() - start)
    finally:
        done.set()
        if watcher is not None:
            watcher.join()


def _tracker(spark: SparkSession) -> object | None:
    from pyspark.sql import SparkSession as Classic

    return spark.sparkContext.statusTracker() if type(spark) is Classic else None


def _report(tracker: object, group: str, label: str, total: int, done: threading.Event, pause: float) -> None:
    before = 0
    while not done.wait(pause):
        now = _finished(tracker, group)
        if now > before:
            log.info("%s: %d of %d tasks", label, now, total)
            before = now


def _finished(tracker: object, group: str) -> int:
    count = 0
    for job in tracker.getJobIdsForGroup(group):  # type: ignore[attr-defined]
        info = tracker.getJobInfo(job)  # type: ignore[attr-defined]
        for stage in info.stageIds if info else ():
            stage_info = tracker.getStageInfo(stage)  # type: ignore[attr-defined]
            count += stage_info.numCompletedTasks if stage_info else 0
    return count
