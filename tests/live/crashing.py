"""Runs of a channel in processes of their own that may die at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.failpoint import VARIABLE
from airflow_ddlrepl.model.work import InProcess

SECONDS = 60
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["airflow_ddlrepl.flow", "psycopg", "adbc_driver_postgresql.dbapi", "alembic"])


def act(stage: str, file: Path, fail_at: str = "") -> None:
    """One stage of the channel, as a process does it."""
    if fail_at:
        os.environ[VARIABLE] = fail_at
    with flow.open_channel(file, InProcess()) as cycle:
        getattr(flow, stage)(cycle)


def start(stage: str, file: Path, fail_at: str = "") -> Any:
    process = _processes.Process(target=act, args=(stage, file, fail_at))
    process.start()
    return process


def die(stage: str, file: Path, fail_at: str) -> None:
    """Run the stage; it must end by SIGKILL at that fail point."""
    process = start(stage, file, fail_at)
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
    return process.exitcode
