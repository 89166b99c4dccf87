"""Runs of a channel in processes of their own that may die at any moment."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.failpoint import HOW, VARIABLE
from airflow_ddlrepl.ports.work import InProcess

SECONDS = 180
OF_STREAMS = ("apply.", "instantiate.", "propagate.", "sync_capture.")
"""Fail points that only channels with clients of Streams come to; their own tests kill them there."""
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["airflow_ddlrepl.flow", "psycopg", "adbc_driver_postgresql.dbapi", "alembic"])


def act(stage: str, file: Path, fail_at: str = "", how: str = "KILL", more: tuple[Any, ...] = ()) -> None:
    """One stage of the channel, as a process does it."""
    if fail_at:
        os.environ |= {VARIABLE: fail_at, HOW: how}
    with flow.open_channel(file, InProcess()) as run:
        if stage == "begin_new_trail":
            flow.activate(run, trail="new")
        else:
            getattr(flow, stage)(run, *more)


def start(stage: str, file: Path, fail_at: str = "", *more: Any) -> Any:
    process = processes.Process(target=act, args=(stage, file, fail_at, "KILL", more))
    process.start()
    return process


def pause(stage: str, file: Path, point: str) -> Any:
    """Run the stage up to a fail point, where it stops as if its machine slept. `wake` lets it go on."""
    process = processes.Process(target=act, args=(stage, file, point, "STOP"))
    process.start()
    deadline = time.monotonic() + SECONDS
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        if time.monotonic() > deadline or process.exitcode is not None:
            process.kill()
            pytest.fail(f"{stage} never reached {point}")
        time.sleep(0.02)
    return process


def wake(process: Any) -> int | None:
    """Let a paused stage go on to its end; its exit code."""
    os.kill(process.pid, signal.SIGCONT)
    process.join(SECONDS)
    code: int | None = process.exitcode
    process.kill()
    return code


def die(stage: str, file: Path, fail_at: str, *more: Any) -> None:
    """Run the stage; it must end by SIGKILL at that fail point. more: what the stage is given besides."""
    process = start(stage, file, fail_at, *more)
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        pytest.fail(f"{stage} hangs before {fail_at}")
    assert process.exitcode == -signal.SIGKILL, f"{stage} ended with {process.exitcode} and never reached {fail_at}"


def kill_after(stage: str, file: Path, seconds: float) -> int | None:
    """Run the stage and kill it after so many seconds. Its exit code: 0 when it was faster."""
    process = start(stage, file)
    process.join(seconds)
    process.kill()
    process.join(SECONDS)
    code: int | None = process.exitcode
    return code


def kill_at_random(
    stage: str, file: Path, dice: random.Random, kills: int, more: Callable[[], None], made_good: Callable[[], None]
) -> int:
    """Run the stage until so many runs were killed at random moments; return how many runs that took.

    more: brings new work before each run. made_good: finishes it and compares; sometimes the next run is killed first.
    """
    runs, killed, length = 0, 0, 0.0
    while killed < kills:
        more()
        started = time.monotonic()
        code = kill_after(stage, file, dice.uniform(length / 5, length) if length else SECONDS)
        runs += 1
        killed += code != 0
        if code == 0:
            length = time.monotonic() - started
        if killed % 4:
            made_good()
    made_good()
    return runs
