"""Runs of a channel of any engine in processes of their own that may die at any moment."""

from __future__ import annotations

import signal
from pathlib import Path

import tests.conformance.file_engine  # noqa: F401  registers the engine in each process that comes here
from tests.support.crashing import SECONDS, act, processes
from tests.support.lakes.shared_java import Gateway, borrow, warm_gateway


def run_and_die(stage: str, file: Path, fail_at: str) -> bool:
    """Run a stage; did it die at the fail point? It may never get there; then it must have ended well."""
    process = processes.Process(target=_act, args=(stage, file, fail_at, warm_gateway()))
    process.start()
    process.join(SECONDS)
    code = process.exitcode
    process.kill()
    assert code in (0, -signal.SIGKILL), f"{stage} with {fail_at} ended with {code}"
    return code == -signal.SIGKILL


def _act(stage: str, file: Path, fail_at: str, gateway: Gateway) -> None:
    borrow(gateway)
    act(stage, file, fail_at)
