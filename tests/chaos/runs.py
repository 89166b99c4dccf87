"""Runs that are killed with all their processes: in a process of their own, or with Spark, its JVM and its workers.

python -m tests.chaos.runs replicate shop.yml      a run whose every task is done by Spark
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from airflow_ddlrepl.failpoint import HOW, VARIABLE
from tests.support.crashing import SECONDS, start

ROOT = Path(__file__).parents[2]
LONGEST = 120.0  # seconds; a run that takes longer hangs


class Run(Protocol):
    """A run that goes on by itself."""

    def wait(self, seconds: float) -> int | None:
        """The exit code when it ends within so many seconds, else None; negative when a signal ended it."""
        ...

    def kill(self) -> None:
        """SIGKILL to all its processes; none is left when this returns."""
        ...


class OneProcess:
    """A run whose tasks are done in its own process. more: what the stage is given besides."""

    def __init__(self, stage: str, file: Path, fail_at: str = "", *more: Any) -> None:
        self._process: Any = start(stage, file, fail_at, *more)

    def wait(self, seconds: float) -> int | None:
        self._process.join(seconds)
        code: int | None = self._process.exitcode
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.join(SECONDS)


class WithSpark:
    """A run of its own session: the driver, the JVM, the workers. At a fail point one stops, and all are killed."""

    def __init__(self, stage: str, file: Path, fail_at: str = "") -> None:
        environment = {**os.environ, "TMPDIR": str(file.parent), "SPARK_LOCAL_DIRS": str(file.parent / "spark")}
        if fail_at:
            environment |= {VARIABLE: fail_at, HOW: "STOP"}
        self.log = file.parent / "spark.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.runs", stage, str(file)],
                cwd=ROOT,
                env=environment,
                start_new_session=True,
                stdout=log,
                stderr=log,
            )

    def wait(self, seconds: float) -> int | None:
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            if any(state == "T" for _, state in session(self._process.pid)):
                self.kill()
            time.sleep(0.05)
        return self._process.returncode

    def kill(self) -> None:
        while found := session(self._process.pid):
            for pid, _ in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self._process.wait()


def session(number: int) -> list[tuple[int, str]]:
    """Process ids and states of a session's living processes."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == number and fields[0] not in "ZX":
                    found.append((int(folder.name), fields[0]))
    return found


def main(stage: str, file: str) -> None:
    from airflow_ddlrepl import flow
    from airflow_ddlrepl.spark.execute import runner
    from airflow_ddlrepl.spark.session.settings import SparkSettings

    runner.SMALL_BYTES = 0
    spark = runner.SparkRunner(SparkSettings("local[2]"))
    with flow.open_channel(file, spark) as run:
        getattr(flow, stage)(run)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
