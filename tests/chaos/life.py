"""The life of one channel whose runs are killed again and again; all of it follows from a seed."""

from __future__ import annotations

import logging
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar
from unittest import mock

import psycopg

from airflow_ddlrepl.engines.postgres.catalog import readable_tables
from airflow_ddlrepl.failpoint import FAIL_POINTS
from tests.chaos.runs import LONGEST, OneProcess, Run, WithSpark
from tests.chaos.source import START, Writer, visible, work
from tests.chaos.traces import Traces, look
from tests.histories.player import ACTIVATE, VARIANTS, Player, Step
from tests.histories.statements import ALL, SETUP, Words
from tests.support.replica import Replica

log = logging.getLogger("chaos")
P = TypeVar("P", bound=Player)
SIDES = ("source", "target", "past")
KILLS = 5  # of one life
TRIES = 8
SPARK_SECONDS = 12.0
IN_TASKS = ("capture.rows", "capture.range", "integrate.loaded", "refresh.copied", "refresh.chunk")
NOTHING_KEPT = {"retention": {"size": 0}, "rewind_horizon": {"size": "1MB"}}
NOTHING_AT_ALL = {"retention": {"size": 0}}  # so that a cycle removes what the one before has captured


@dataclass
class Story:
    """What became of a life. kills: how the runs died, one line each; trouble: empty when all is well."""

    kills: list[str] = field(default_factory=list)
    traces: Traces = field(default_factory=Traces)
    trouble: str = ""
    seconds: float = 0.0
    history: str = ""


class Life(Generic[P]):
    """A channel between fresh databases, random sessions at the source, and a clock."""

    def __init__(self, server: Any, seed: int, folder: Path, kind: type[P], kept: Mapping[str, Any]) -> None:
        self.rng = random.Random(seed)
        self.server = server
        self.names = [f"{side}_{random.SystemRandom().randrange(1 << 40):x}" for side in SIDES[: 2 + kind.spare]]
        urls = [server.create_database(name) for name in self.names]
        self.player = kind(urls, folder, {**VARIANTS[seed % len(VARIANTS)], **kept})
        self.replica: Replica = self.player.replica
        self.source = psycopg.connect(urls[0], autocommit=True)
        self.length = 1.0  # seconds that a run takes, as far as we have seen
        self.number = 0
        self.story = Story()

    def close(self) -> None:
        self.source.close()
        self.player.close()
        for name in self.names:
            self.server.drop_database(name)

    # -- the source

    def begin(self) -> None:
        """Tables to replicate, ours and random ones."""
        for statement in START:
            self.source.execute(statement)
        self.player.play(Step(0, 'CREATE SCHEMA s2; CREATE SCHEMA "S p%s"'))
        for _ in range(self.rng.randrange(2, 6)):
            self._say(0, SETUP)
        self.player.play(Step(0, "COMMIT"))  # no slot is created while a transaction is open

    def go_on(self) -> None:
        """The next piece of work, with random statements of several sessions before, among and after it."""
        self.number += 1
        for statement in work(self.number):
            self.source.execute(statement)  # type: ignore[call-overload]
            if self.rng.random() < 0.3:
                self._say(self.rng.randrange(3), ALL)

    def _say(self, session: int, what: Any) -> None:
        told = Words(self.rng, visible(self.player.sessions[session], self.rng)).one(what)
        begins, ends = self.rng.random() < 0.1, self.rng.random() < 0.4
        if begins:
            self.player.play(Step(session, "BEGIN"))
        self.player.play(Step(session, told, guarded=True))
        if ends:
            self.player.play(Step(session, self.rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])))

    # -- killing

    def die_anywhere(self, stage: str, run: Callable[[str, Path], Run], length: float = 0) -> bool:
        """Kill a run after a random part of the time that one takes. False: it was faster every time."""
        for _ in range(TRIES):
            seconds = self.rng.random() * (length or self.length)
            running, started = run(stage, self.replica.file), time.monotonic()
            code = running.wait(seconds)
            running.kill()
            if code is None:
                self.length *= 1.1
                self.story.kills.append(f"{stage} {type(running).__name__} after {seconds:.3f} s")
                return True
            self.length = 0.5 * (self.length + time.monotonic() - started) if not length else self.length
            self.go_on()
        return False

    def die_at(self, stage: str, point: str, run: Callable[[str, Path, str], Run]) -> bool:
        """Have a run die at a fail point (`name`, `name:3`); False: it never came there."""
        running = run(stage, self.replica.file, point)
        code = running.wait(LONGEST)
        running.kill()
        if code is None:
            raise AssertionError(f"{stage} hangs on its way to {point}")
        if code > 0 and self.player.end_all():  # a refresh waits for no transaction for ever
            return self.die_at(stage, point, run)
        if code == -signal.SIGKILL:
            self.story.kills.append(f"{stage} {type(running).__name__} at {point}")
        return code == -signal.SIGKILL

    def settle(self) -> None:
        """One more cycle, and all is as if nothing had happened."""
        self.player.finish()
        self.story.traces = look(self.replica)
        if self.story.traces:
            raise AssertionError(str(self.story.traces))


@contextmanager
def life(server: Any, seed: int, kind: type[P], kept: Mapping[str, Any]) -> Iterator[Life[P]]:
    with TemporaryDirectory(prefix="chaos-") as folder, mock.patch.object(readable_tables, "PATIENCE_SECONDS", 0.3):
        living = Life(server, seed, Path(folder), kind, kept)
        try:
            yield living
        finally:
            living.close()


def killed_anywhere(server: Any, seed: int, kills: int = KILLS) -> Story:
    """One life with so many kills at random moments; one in ten is a kill of a run with Spark."""

    def live(living: Life[Player]) -> None:
        rng, spark = living.rng, kills // 2 if kills > KILLS or seed % 2 == 0 else -1
        if rng.random() < 0.4:
            living.die_anywhere("activate", OneProcess)
        living.player.play(ACTIVATE)
        while len(living.story.kills) < kills:
            living.go_on()
            with Writer(living.replica.source, rng.randrange(1 << 30)):
                if len(living.story.kills) == spark:
                    died = living.die_anywhere("replicate", WithSpark, SPARK_SECONDS)
                else:
                    died = living.die_anywhere("replicate", OneProcess)
                assert died, "no run lived long enough to be killed"
            if rng.random() < 3 / kills:
                living.settle()
        living.settle()

    return lived(server, seed, Player, live)


def killed_at(server: Any, seed: int, point: str) -> Story:
    """One life whose runs die at a fail point: the first, the second, the third time they get there.

    Where a task has the fail point, a run with Spark dies there, too.
    """
    assert point in FAIL_POINTS

    def live(living: Life[Player]) -> None:
        if point.startswith("activate."):
            assert living.die_at("activate", point, OneProcess), f"{point} is never reached"
            living.go_on()
            living.player.play(ACTIVATE)
            living.settle()
            return
        living.player.play(ACTIVATE)
        for nth in (1, 2, 3):
            living.go_on()
            with Writer(living.replica.source, living.rng.randrange(1 << 30)):
                died = living.die_at("replicate", f"{point}:{nth}", OneProcess)
                assert died or nth > 1, f"{point} is never reached"
            living.settle()
        if point in IN_TASKS:
            living.go_on()
            assert living.die_at("replicate", point, WithSpark), f"no worker reaches {point}"
            living.settle()

    kept: Mapping[str, Any] = NOTHING_AT_ALL if point.startswith("keep.") else NOTHING_KEPT
    more = {"db_sequence": True} if point == "integrate.sequences" else {}
    return lived(server, seed, Player, live, {**kept, **more})


def lived(
    server: Any, seed: int, kind: type[P], live: Callable[[Life[P]], None], kept: Mapping[str, Any] = NOTHING_KEPT
) -> Story:
    """What becomes of a life that is lived so. kept: the channel's settings of what its trail keeps."""
    started = time.monotonic()
    with life(server, seed, kind, kept) as living:
        try:
            living.begin()
            live(living)
        except AssertionError as error:
            living.story.trouble = str(error)
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-4:])
            living.story.trouble = f"{type(error).__name__}: {error}\n{where}"
        if living.story.trouble:
            living.story.history = "\n".join(str(step) for step in living.player.outcome.steps)
        living.story.seconds = time.monotonic() - started
        return living.story
