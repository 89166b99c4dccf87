"""Tasks in processes of this machine: what they promise is what SparkRunner's tests ask of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from airflow_ddlrepl.ports.work import expect
from airflow_ddlrepl.spark.execute.processes import TaskProcesses
from airflow_ddlrepl.spark.execute.runner import EXPECTED_BYTES, LARGE_BYTES, SMALL_BYTES, SparkRunner
from airflow_ddlrepl.spark.execute.worker import attempt
from airflow_ddlrepl.spark.session.settings import PYTHON, SparkSettings
from tests.spark.support import tasks

ROOT = Path(__file__).parents[2]
BEGIN = """
import os, sys
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.execute.processes import TaskProcesses
from airflow_ddlrepl.spark.execute.runner import SMALL_BYTES, SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

runner = SparkRunner(SparkSettings("local[2]"), "alone", TaskProcesses.forked())

def run(task, items):
    try:
        return runner.map(task, items, "work", size=SMALL_BYTES)
    except DdlReplError as error:
        return f"{error.code} {error.message}"
"""
ANSWERS = """
here = str(os.getpid())
told = run(tasks.python_and_process, [1, 2, 3, 4, 5])
print(run(tasks.square, list(range(7, 0, -1))), {python for python, _ in told} == {sys.executable})
print(len({process for _, process in told} - {here}))
print(run(tasks.refuse_two, [1, 2, 3]))
print(run(tasks.divide, [1, 0]))
os.environ["SINCE"] = "the start"
print(run(tasks.variable, ["SINCE"]))
print(run(tasks.die, [1, 2, 3]), runner.is_started)
print(run(tasks.square, [3]))
runner.stop()
"""
EXPECTED = """\
[49, 36, 25, 16, 9, 4, 1] True
5
TRL-101 file is gone
SPK-101 could not run work: ZeroDivisionError: division by zero
['the start']
SPK-101 could not run work: a process was ended by signal 9 False
[9]
"""


def started(body: str) -> subprocess.Popen[str]:
    """A Python with a single thread, which pytest's own has not."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", BEGIN + body], stdout=pipe, stderr=pipe, text=True, env=env)


def test_tasks_run_on_this_machine_as_spark_runs_them() -> None:
    out, err = started(ANSWERS).communicate(timeout=120)
    assert out == EXPECTED, err
    assert "tests/spark/support/tasks.py" in err and "in divide" in err, "the log has the whole error"


def test_tasks_end_with_who_waits_for_them(tmp_path: Path) -> None:
    process = started(f"run(tasks.write_and_sleep, [{str(tmp_path)!r}] * 2)")
    deadline = time.monotonic() + 60
    while len(found := list(tmp_path.iterdir())) < 2:
        assert time.monotonic() < deadline and process.poll() is None, "the tasks have not begun"
        time.sleep(0.05)
    others = [psutil.Process(int(one.name)) for one in found]
    process.kill()
    process.wait(60)
    psutil.wait_procs(others, timeout=30)
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in others)


class Noted:
    """Processes that note what they are asked for."""

    is_open = True

    def __init__(self) -> None:
        self.notes: list[str] = []

    def prepare(self) -> None:
        self.notes.append("prepared")

    def close(self) -> None:
        self.notes.append("closed")

    def run(
        self, parcels: Sequence[bytes], secrets: Sequence[str], at_once: int, done: Callable[[int], None]
    ) -> list[tuple[str, bytes]]:
        self.notes.append(f"{len(parcels)}, {at_once} at once")
        return [attempt(parcel, secrets) for parcel in parcels]


class AtOnce:
    """A thread that has ended when it is started."""

    def __init__(self, target: Callable[[], None], **_: Any) -> None:
        self.start = target


def runner_with(settings: SparkSettings, monkeypatch: pytest.MonkeyPatch) -> tuple[SparkRunner, list[str]]:
    """A runner whose Spark is not started, and notes of what it asks for."""
    processes = Noted()
    monkeypatch.setattr("airflow_ddlrepl.spark.execute.runner.Thread", AtOnce)
    runner = SparkRunner(settings, "noted", cast(TaskProcesses, processes))
    monkeypatch.setattr(runner, "_started", lambda: processes.notes.append("Spark"))
    monkeypatch.setattr(runner, "_mapped", lambda *_: processes.notes.append("on Spark"))
    return runner, processes.notes


def test_work_of_a_local_master_begins_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where it is so much that a Spark helps before it is done one starts, beside the work."""
    runner, notes = runner_with(SparkSettings("local[3]"), monkeypatch)
    assert runner.map(tasks.square, [1, 2], "little", size=SMALL_BYTES - 1) == [1, 4] and not notes
    expect(runner, EXPECTED_BYTES - 1)
    assert runner.map(tasks.square, [1, 2], "more", size=SMALL_BYTES) == [1, 4] and notes == ["2, 3 at once"]
    expect(runner, LARGE_BYTES - 1)
    assert notes[1:] == ["prepared"]
    runner.map(tasks.square, [1], "much", size=LARGE_BYTES)
    assert sorted(notes[2:]) == ["1, 3 at once", "Spark", "prepared"]
    runner.map(tasks.square, [1], "of an unknown size")
    assert notes[-2:] == ["Spark", "on Spark"]


ELSEWHERE: dict[str, dict[str, Any]] = {
    "cluster": {"master": "spark://host:7077"},
    "connect": {"remote": "sc://host"},
    "another Python": {"conf": {PYTHON: "/opt/python"}},
    "lake": {"targets": ("iceberg+sqlite:///lake",)},
}


@pytest.mark.parametrize("place", ELSEWHERE.values(), ids=ELSEWHERE)
def test_tasks_of_another_place_wait_for_spark(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts ahead where there is much work."""
    monkeypatch.setattr(SparkSettings, "of_engines", lambda one: dict.fromkeys(one.targets, "needed"))
    runner, notes = runner_with(SparkSettings(**place), monkeypatch)
    expect(runner, EXPECTED_BYTES)
    runner.map(tasks.square, [1, 2], "work", size=SMALL_BYTES)
    assert sorted(notes) == ["Spark", "Spark", "on Spark"]
    runner.stop()
