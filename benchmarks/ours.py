"""Our side of every ratio: the product's own stages on a real channel, in a Spark session that is already warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import TablesSuspended, TargetError
from airflow_ddlrepl.flow import replicate
from airflow_ddlrepl.flow.admin.activate import activate
from airflow_ddlrepl.flow.apply.integrate import integrate
from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.comparing.compare import compare
from airflow_ddlrepl.flow.refresh.refresh import refresh
from airflow_ddlrepl.flow.rewind.rewind import rewind
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.notation.refresh_options import read_options
from airflow_ddlrepl.ports.work import Runner

CHANNEL = """\
channel: {name}
source:
  location: {source}
  tables: ["public.{table}"]
targets:
  - name: copy
    location: {target}
repository: sqlite:///{folder}/{name}.db
trail: {folder}/{name}
"""
REPLAY = """\
rewind_horizon:
  age: 7d
replays:
  - name: past
    location: {past}
"""


def write_channel(folder: Path, name: str, table: str, source: str, target: str, past: str = "") -> Path:
    """A channel file of one table; readable by nobody else, because it holds passwords. past: where a replay goes."""
    path = folder / f"{name}.yaml"
    path.touch(mode=0o600)
    text = CHANNEL.format(name=name, table=table, source=source, target=target, folder=folder)
    path.write_text(text + REPLAY.format(past=past) if past else text)
    return path


def warm(runner: Runner) -> None:
    """Starts Spark and its Python workers, which a cycle does once."""
    runner.map(abs, list(range(runner.parallelism)), "warm up")


class Ours:
    """One active channel whose stages are measured."""

    def __init__(self, run: RunContext) -> None:
        self.run = run

    @property
    def publication(self) -> str:
        return self.run.channel.publication

    def activate(self) -> None:
        activate(self.run)

    def capture(self, expected: int | None = None) -> float:
        """Seconds to capture everything new. Raises AssertionError when it is not as many changes as expected."""
        seconds, done = timed(lambda: capture(self.run))
        assert expected in (None, done.rows), f"captured {done.rows} changes of {expected}"
        return seconds

    def integrate(self) -> float:
        return timed(lambda: integrate(self.run))[0]

    def rewind(self) -> float:
        """Seconds to build everything that is captured at the replay's place."""
        return timed(lambda: rewind(self.run, self.run.captured(), "past"))[0]

    def replicate(self) -> float:
        return timed(lambda: replicate(self.run))[0]

    def replicate_refused(self, table: str) -> float:
        """Seconds of a cycle that fails by the name of a suspended table. Raises AssertionError when it does not."""
        started = time.monotonic()
        try:
            replicate(self.run)
        except TargetError as error:
            assert isinstance(error, TablesSuspended) and error.table == table, error
            return time.monotonic() - started
        raise AssertionError(f"{table} is not suspended")

    def refresh(self, table: str, options: str = "") -> float:
        return timed(lambda: refresh(self.run, [f"public.{table}"], read_options(options)))[0]

    def compare(self) -> float:
        """Seconds of a comparison. Raises AssertionError when something differs."""
        seconds, report = timed(lambda: compare(self.run))
        assert report.differences == 0, report.text()
        return seconds


@contextmanager
def opened(path: Path, runner: Runner) -> Iterator[Ours]:
    with RunContext(load_channel(path), runner, "benchmark") as run:
        yield Ours(run)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work takes, and its result."""
    started = time.monotonic()
    result = work()
    return time.monotonic() - started, result
