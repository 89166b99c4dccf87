"""Lives and histories side by side: every worker process has a server of its own."""

from __future__ import annotations

import logging
import multiprocessing
import queue
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.chaos.life import Story, killed_anywhere, killed_at
from tests.chaos.returns import killed_rewinds
from tests.histories.histories import generate, report, script, shrink
from tests.histories.player import Player
from tests.histories.rewinds import Rememberer
from tests.support import memory

_processes = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Job:
    """A life whose runs are killed, at a fail point or so many times anywhere; neither: a random history.

    rewound: the history is gone back through; of a life: it is rewinds that are killed.
    """

    seed: int
    point: str = ""
    kills: int = 0
    rewound: bool = False

    @property
    def is_history(self) -> bool:
        return not self.point and not self.kills


@dataclass(frozen=True)
class Done:
    """What came out. said: for people; trouble: empty when all is well; history: what to read when it isn't."""

    job: Job
    said: str
    kills: int = 0
    lost: int = 0
    twice: int = 0
    trouble: str = ""
    history: str = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.said, self.trouble, self.history)))


def do(server: PrivateServer, job: Job) -> Done:
    if job.is_history:
        kind = Rememberer if job.rewound else Player
        outcome = generate(server, job.seed, kind)
        told = script(job.seed, shrink(server, job.seed, outcome, kind=kind)) if outcome.failure else ""
        said = f"{report(job.seed, outcome)}{', rewound' if job.rewound else ''}"
        return Done(job, said, trouble=outcome.failure, history=told)
    if job.point:
        return _told(job, killed_at(server, job.seed, job.point))
    anywhere = killed_rewinds if job.rewound else killed_anywhere
    return _told(job, anywhere(server, job.seed, job.kills))


def _told(job: Job, story: Story) -> Done:
    what = f"seed {job.seed} {job.point}".rstrip()
    end = "FAILED" if story.trouble else "equal"
    said = f"{what}: {'; '.join(story.kills)}: {end}, {story.seconds:.1f} s"
    traces = story.traces
    return Done(job, said, len(story.kills), traces.lost, traces.twice, story.trouble, story.history)


def work_off(version: int, jobs: Sequence[Job], workers: int) -> Iterator[Done]:
    """What came out of every job, in the order in which they end. Raises RuntimeError when a worker dies."""
    todo: Any = _processes.Queue()
    done: Any = _processes.Queue()
    for job in [*jobs, *[None] * workers]:
        todo.put(job)
    level = logging.getLogger("ddlrepl").level
    hands = [_processes.Process(target=_work, args=(version, todo, done, level)) for _ in range(workers)]
    for hand in hands:
        hand.start()
    try:
        for _ in jobs:
            yield _next(done, hands)
    finally:
        for hand in hands:
            hand.join(60)
            hand.kill()


def _next(done: Any, hands: Sequence[Any]) -> Done:
    while True:
        try:
            found: Done = done.get(timeout=5)
            return found
        except queue.Empty:
            if dead := [hand.exitcode for hand in hands if hand.exitcode]:
                raise RuntimeError(f"a worker ended with exit code {dead[0]}") from None


def _work(version: int, todo: Any, done: Any, level: int) -> None:
    for name in ("ddlrepl", "alembic"):
        logging.getLogger(name).setLevel(level)
    PrivateServer.parent = memory.folder()
    with PrivateServer("source", version) as server:
        for job in iter(todo.get, None):
            done.put(do(server, job))
