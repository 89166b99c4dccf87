"""Run tasks in processes of this machine while no Spark is up: forks of a process that has imported what they need.

That process is a fork, too, made while this one has a single thread: locks that other threads hold would stay locked in
it for ever.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import NoReturn

from airflow_ddlrepl.spark.execute.probe import import_all, needed
from airflow_ddlrepl.spark.execute.worker import TaskFailed, attempt

FAILED, ENDED = "failed", "ended"
"""States of a task besides those of `worker`: it raised an unexpected error; its process ended without a result."""


def can_fork() -> bool:
    """Return whether a fork of this process is safe: locks that other threads hold would stay locked in it for ever."""
    return sys.platform == "linux" and threading.active_count() == 1


@dataclass(frozen=True, slots=True)
class _Order:
    """An order is what to run: pickled tasks with the secrets that are not in them, so many at once."""

    environment: dict[str, str]
    parcels: Sequence[bytes]
    secrets: Sequence[str]
    at_once: int


class TaskProcesses:
    """Task processes run tasks side by side on this machine; when this process ends, however it does, they end."""

    def __init__(self, orders: Connection, pid: int) -> None:
        """Take the way to the process from which tasks are forked, and its number."""
        self._orders, self._pid = orders, pid
        self._turn = threading.Lock()

    @classmethod
    def forked(cls) -> TaskProcesses | None:
        """Fork the process from which tasks will be forked; None where that is not safe, or a Spark is up already."""
        if not can_fork() or "PYSPARK_GATEWAY_PORT" in os.environ:
            return None
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _become_server(theirs)
        theirs.close()
        return cls(ours, pid)

    @property
    def is_open(self) -> bool:
        """Return whether tasks can be run."""
        return not self._orders.closed

    def prepare(self) -> None:
        """Import what tasks need while they are not there yet."""
        with self._turn, suppress(OSError):
            self._orders.send(None)

    def run(
        self, parcels: Sequence[bytes], secrets: Sequence[str], at_once: int, done: Callable[[int], None]
    ) -> list[tuple[str, bytes]]:
        """Return state and payload of each pickled task, in their order. done: is told how many have ended so far."""
        found: dict[int, tuple[str, bytes]] = {}
        with self._turn:
            try:
                self._orders.send(_Order(dict(os.environ), parcels, secrets, at_once))
                while len(found) < len(parcels):
                    number, state, payload = self._orders.recv()
                    found[number] = (state, payload)
                    done(len(found))
            except (EOFError, OSError):
                self.close()
            except BaseException:
                self.close()
                raise
        return [found.get(number, (ENDED, b"that starts them ended")) for number in range(len(parcels))]

    def close(self) -> None:
        """End the processes."""
        if self.is_open:
            self._orders.close()
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _become_server(orders: Connection) -> NoReturn:
    """Run what is ordered until nobody orders any more; nothing leaves this function.

    A person's Ctrl-C ends the process that orders, and with it this one.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _Server(orders).serve()
    finally:
        os._exit(0)


class _Server:
    """A server forks a process for each task, and hands on what it returns."""

    def __init__(self, orders: Connection) -> None:
        self._orders = orders
        self._running: dict[Connection, tuple[int, int]] = {}
        """By the way on which a process returns its result: its number, and that of its task."""

    def serve(self) -> None:
        try:
            while True:
                order = self._orders.recv()
                with suppress(ImportError):  # the task that needs it says so
                    import_all(needed())
                gc.freeze()
                if order is not None:
                    self._run(order)
        except (EOFError, OSError):
            for pid, _ in self._running.values():
                os.kill(pid, signal.SIGKILL)

    def _run(self, order: _Order) -> None:
        """Run tasks. Raises EOFError or OSError when the process that has ordered them ends."""
        os.environ.update(order.environment)
        waiting = deque(enumerate(order.parcels))
        while waiting or self._running:
            while waiting and len(self._running) < order.at_once:
                self._start(*waiting.popleft(), order.secrets)
            for ready in wait([self._orders, *self._running]):
                if ready is self._orders:
                    raise EOFError
                self._finish(ready)  # type: ignore[arg-type]

    def _start(self, number: int, parcel: bytes, secrets: Sequence[str]) -> None:
        results, writer = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            self._orders.close()
            _become_worker(parcel, secrets, writer)
        writer.close()
        self._running[results] = (pid, number)

    def _finish(self, results: Connection) -> None:
        pid, number = self._running.pop(results)
        try:
            state, payload = results.recv()
        except EOFError:
            state, payload = ENDED, b""
        results.close()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._orders.send((number, state, how.encode() if state == ENDED else payload))


def _become_worker(parcel: bytes, secrets: Sequence[str], results: Connection) -> NoReturn:
    """Run a task and return its state and payload; nothing leaves this function."""
    code = 1
    try:
        try:
            found = attempt(parcel, secrets)
        except TaskFailed as error:
            found = FAILED, str(error).encode()
        results.send(found)
        sys.stdout.flush()
        sys.stderr.flush()
        code = 0
    finally:
        os._exit(code)
