"""How long a cycle would take with so many workers: its tasks run one after the other here, and are spread by numbers.

A task's seconds hold what its sessions at the servers take. So the servers are taken to have a core for each of them.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from airflow_ddlrepl.spark.execute.runner import SMALL_BYTES

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class Recorder:
    """A runner that promises so many workers, runs each task alone in this process, and notes how long each takes.

    What a runner would do in the driver's process for its size is noted nowhere: no worker gets it.
    """

    parallelism: int
    stages: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Run the task for each item, one after the other, in this process."""
        found: list[Result] = []
        took: list[float] = []
        for item in items:
            started = time.monotonic()
            found.append(task(item))
            took.append(time.monotonic() - started)
        if items and (size is None or size >= SMALL_BYTES):
            self.stages.setdefault(label.split()[0], []).append(tuple(took))
        return found


@dataclass(frozen=True)
class Recorded:
    """This is what a cycle was seen to take. driver: seconds outside of tasks. stages: seconds of each task, by map."""

    driver: float
    stages: dict[str, list[tuple[float, ...]]]

    @classmethod
    def of(cls, recorder: Recorder, seconds: float) -> Recorded:
        """Return what a recorder has noted of a cycle that took these seconds."""
        tasks = sum(sum(one) for maps in recorder.stages.values() for one in maps)
        return cls(max(seconds - tasks, 0.0), recorder.stages)

    def seconds(self, workers: int, start: float) -> dict[str, float]:
        """Return the seconds of each stage's tasks with so many workers, and of the driver. start: of a map's tasks."""
        spread = {
            label: sum(start + makespan(one, workers) for one in maps) for label, maps in sorted(self.stages.items())
        }
        return {**spread, "driver": self.driver}


def makespan(tasks: Sequence[float], workers: int) -> float:
    """Return when the last of these tasks ends, where each begins in its turn as soon as a worker is free."""
    free = [0.0] * max(1, min(workers, len(tasks)))
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)
