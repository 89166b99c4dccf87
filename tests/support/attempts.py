"""One stage of a channel in a process of its own, as the command line or an app runs it: how it ended."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.failpoint import HOW, VARIABLE
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository import lock

SECONDS = 120
SLEPT = "SLEPT"
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["airflow_ddlrepl.flow", "psycopg", "adbc_driver_postgresql.dbapi", "alembic"])


def act(
    stage: str, file: Path, run_id: str, environment: Mapping[str, str], answer: Any, more: tuple[Any, ...] = ()
) -> None:
    """Sends None, or the error that ended the stage. more: what the stage is given besides."""
    os.environ |= environment
    if SLEPT in environment:
        lock._clock = _hours_later(Path(environment[SLEPT]))
    try:
        with flow.open_channel(file, InProcess(), run_id) as cycle:
            getattr(flow, stage)(cycle, *more)
    except DdlReplError as error:
        answer.send(error)
        raise SystemExit(1) from None
    answer.send(None)


def _hours_later(file: Path) -> Callable[[], float]:
    """A clock that has gone on for hours once the file is there."""
    return lambda: time.monotonic() + (36000 if file.exists() else 0)


class Attempt:
    """A stage that runs in its process from now on."""

    def __init__(
        self, stage: str, file: Path, run_id: str = "", environment: Mapping[str, str] | None = None, *more: Any
    ) -> None:
        self.stage = stage
        self._answer, theirs = _processes.Pipe(duplex=False)
        self.process = _processes.Process(target=act, args=(stage, file, run_id, environment or {}, theirs, more))
        self.process.start()
        theirs.close()

    def end(self) -> DdlReplError | None:
        """Wait for its end: the error, None when it went well. Fails the test when it hangs or dies otherwise."""
        try:
            if not self._answer.poll(SECONDS):
                pytest.fail(f"{self.stage} hangs")
            error: DdlReplError | None = self._answer.recv()
        except EOFError:
            self.process.join(SECONDS)
            pytest.fail(f"{self.stage} ended with exit code {self.process.exitcode} and no answer")
        finally:
            self.process.join(5)
            self.process.kill()
        return error

    def kill(self) -> None:
        """Dead, and its lock with it, when this returns."""
        self.process.kill()
        self.process.join(SECONDS)

    def wake(self) -> DdlReplError | None:
        """Let it go on after `stopped_at`, to its end."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGCONT)
        return self.end()


def attempt(stage: str, file: Path, environment: Mapping[str, str] | None = None) -> DdlReplError | None:
    """Run the stage to its end; the error that ended it."""
    return Attempt(stage, file, "", environment).end()


def stopped_at(point: str, stage: str, file: Path, environment: Mapping[str, str] | None = None, *more: Any) -> Attempt:
    """Run the stage up to a fail point, where it stands still as if its machine slept."""
    run = Attempt(stage, file, "", {**(environment or {}), VARIABLE: point, HOW: "STOP"}, *more)
    deadline = time.monotonic() + SECONDS
    while Path(f"/proc/{run.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        if time.monotonic() > deadline or run.process.exitcode is not None:
            run.process.kill()
            pytest.fail(f"{stage} never reached {point}")
        time.sleep(0.02)
    return run
