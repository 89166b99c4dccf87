"""Drivers that write a lake in a stream of windows, by a Java beside them, until somebody kills one of them or it."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import LockHeld
from airflow_ddlrepl.ports.work import InProcess
from tests.support.crashing import SECONDS, processes
from tests.support.lakes.shared_java import Gateway, borrow, warm_gateway
from tests.support.lakes.warm_spark import warm_runner
from tests.support.replica import run

HALF = 4000
"""So much is on both sides together, in every state that a reader may see."""


def cycles(file: Path, gateway: Gateway, warm: Any) -> None:
    """One cycle of a channel after the other, for ever. warm: is set when one has ended."""
    borrow(gateway)
    while True:
        with suppress(LockHeld), flow.open_channel(file, InProcess()) as channel:
            flow.replicate(channel)
            warm.set()
        time.sleep(0.05)


class Driver:
    """A process that runs the cycles of a channel."""

    def __init__(self, file: Path, gateway: Gateway) -> None:
        self.file, self.warm = file, processes.Event()
        self._process = processes.Process(target=cycles, args=(file, gateway, self.warm), daemon=True)
        self._process.start()

    @property
    def is_alive(self) -> bool:
        return self._process.exitcode is None

    def kill(self) -> None:
        self._process.kill()
        self._process.join(SECONDS)

    def end(self, seconds: float) -> None:
        """Its Java is dead: it may end by itself, or is killed while it does not know yet."""
        self._process.join(seconds)
        self.kill()


class Java:
    """A process with a Java by which drivers write. It starts in a minute, where a driver takes seconds."""

    def __init__(self) -> None:
        ours, theirs = processes.Pipe()
        self._process = processes.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        assert ours.poll(2 * SECONDS), "Java does not start"
        self.gateway: Gateway = ours.recv()
        self._pipe = ours

    def kill(self) -> None:
        """End it in the middle of what it does."""
        for pid in [*_java_of(self._process.pid or 0), self._process.pid or 0]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.join(SECONDS)


def _serve(pipe: Any) -> None:
    warm_runner()
    pipe.send(warm_gateway())
    with suppress(EOFError):
        pipe.recv()


def _java_of(driver: int) -> list[int]:
    """The processes below a driver that are no Python."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = stat.read_text()
            below.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(text.split()[0]))
    found, waiting = list[int](), [driver]
    while waiting:
        children = below.get(waiting.pop(), [])
        waiting += children
        found += children
    return found


class Work:
    """Transactions of a source that move amounts from one side to the other, with changes of both sides' columns."""

    def __init__(self, source: str, schema: str, rng: random.Random) -> None:
        self.source, self.schema, self.rng = source, schema, rng
        self.number, self.column = 0, "amount"

    def start(self) -> None:
        """The tables of both sides."""
        run(self.source, f"create schema if not exists {self.schema}")
        for side in ("left_side", "right_side"):
            name = f"{self.schema}.{side}"
            run(self.source, f"create table {name} (id int primary key, amount int)")
            run(self.source, f"insert into {name} select i, 100 from generate_series(1, 20) i")

    def more(self) -> None:
        """A few transactions; the last one may change the columns."""
        moved, many = list[str](), self.rng.randrange(1, 6)
        left, right = (f"{self.schema}.{side}_side" for side in ("left", "right"))
        for _ in range(many):
            one, other, much = self.rng.randrange(1, 21), self.rng.randrange(1, 21), self.rng.randrange(50)
            moved.append(
                f"update {left} set {self.column} = {self.column} - {much} where id = {one};"
                f" update {right} set {self.column} = {self.column} + {much} where id = {other}"
            )
        self.number += 1
        n, kind = self.number, self.rng.randrange(4)
        if kind == 0:
            moved.append("; ".join(f"alter table {at} rename {self.column} to amount_{n}" for at in (left, right)))
            self.column = f"amount_{n}"
        elif kind == 1:
            moved.append("; ".join(f"alter table {at} add c{n} int default {n}" for at in (left, right)))
        elif kind == 2:
            moved.append(
                f"create table {self.schema}.t{n} (id int primary key); insert into {self.schema}.t{n} values (1)"
            )
        run(self.source, *(f"begin; {one}; commit" for one in moved))
