"""SparkRunner keeps the promises of ports.work.Runner."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Event, current_thread

import pytest

from airflow_ddlrepl.errors import DdlReplError, TrailError
from airflow_ddlrepl.ports.work import InProcess, expect, offered_session
from airflow_ddlrepl.spark.execute.runner import EXPECTED_BYTES, SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

# one session for all of them
pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]


def test_starts_nothing_before_the_first_task() -> None:
    lazy = SparkRunner(SparkSettings("local[2]"))
    assert lazy.map(tasks.square, [], "nothing") == []
    assert not lazy.is_started
    assert lazy.parallelism == 2


def test_engines_get_the_session_of_the_runner_that_knows_their_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    SparkRunner(SparkSettings("local[2]"))
    assert offered_session() is None
    monkeypatch.setattr(SparkRunner, "_started", lambda one: one.app_name)
    first, second = (SparkRunner(SparkSettings(targets=("lake",)), name) for name in ("first", "second"))
    assert offered_session() == "second"
    second.stop()
    assert offered_session() == "first"
    first.stop()
    assert offered_session() is None


def test_spark_starts_beside_what_looks_at_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, in a thread of its own; where it does not start, the task that needs it says so."""
    begun: SimpleQueue[str] = SimpleQueue()
    looked = Event()

    def start(_: SparkRunner) -> None:
        begun.put(current_thread().name)
        looked.wait(60)
        raise DdlReplError("Spark does not start", code="SPK-104")

    monkeypatch.setattr(SparkRunner, "_started", start)
    ahead = SparkRunner(SparkSettings("local[2]"))
    for size in (None, EXPECTED_BYTES - 1, EXPECTED_BYTES, EXPECTED_BYTES):
        expect(ahead, size)
    looked.set()
    assert begun.get(timeout=60) == "ddlrepl-spark"
    with pytest.raises(DdlReplError, match="does not start"):
        ahead.map(tasks.square, [1], "square")
    assert begun.get(timeout=60) == current_thread().name and begun.empty()


def test_results_come_in_the_order_of_the_items(runner: SparkRunner) -> None:
    numbers = list(range(7, 0, -1))
    assert runner.map(tasks.square, numbers, "squares") == InProcess().map(tasks.square, numbers, "squares")
    assert runner.is_started
    assert runner.parallelism == 2


def test_little_work_runs_here(runner: SparkRunner) -> None:
    """Also beside a running session."""
    runner.map(tasks.square, [1], "start")
    ((_, little),) = runner.map(tasks.python_and_process, [1], "who", size=100)
    ((_, large),) = runner.map(tasks.python_and_process, [1], "who", size=1 << 30)
    assert little == os.getpid() != large
    assert {process for _, process in runner.map(tasks.python_and_process, [1, 2], "who", size=100)} == {os.getpid()}


def test_tasks_run_in_this_python_and_in_other_processes(runner: SparkRunner) -> None:
    told = runner.map(tasks.python_and_process, [1, 2], "who")
    assert {python for python, _ in told} == {sys.executable}
    assert os.getpid() not in {process for _, process in told}


def test_our_errors_arrive_as_themselves(runner: SparkRunner) -> None:
    with pytest.raises(TrailError) as caught:
        runner.map(tasks.refuse_two, [1, 2, 3], "reading")
    error = caught.value
    assert (error.code, error.table, error.at, error.hint) == ("TRL-101", "public.orders", "0/1A", "read it again")


def test_other_errors_name_what_was_run_and_the_cause(runner: SparkRunner) -> None:
    with pytest.raises(DdlReplError, match=r"Spark could not run dividing: .*division by zero") as caught:
        runner.map(tasks.divide, [1, 0], "dividing")
    assert caught.value.code == "SPK-101"


def test_says_what_it_did(runner: SparkRunner, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "airflow_ddlrepl.spark"):
        runner.map(tasks.square, [1, 2, 3], "capture")
    assert "capture: 3 of 3 tasks" in caplog.text


ROOT = Path(__file__).parents[2]

ALONE = """
import os
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks
runner = SparkRunner(SparkSettings({master!r}, {remote!r}))
print(runner.map(tasks.square, [1, 2, 3], "alone"), os.environ["JAVA_HOME"])
runner.stop()
"""


def run_alone(master: str, remote: str = "", **environment: str) -> str:
    text = ALONE.format(master=master, remote=remote)
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_machine_without_java_uses_the_wheel(tmp_path: Path) -> None:
    """Only programs that are no Java stand on this PATH: Spark's launcher must live with the wheel's runtime."""
    for tool in ("bash", "sh", "dirname", "env", "ps", "basename", "readlink", "tr", "nice"):
        found = shutil.which(tool)
        if found:
            (tmp_path / tool).symlink_to(found)
    environment = {"PATH": str(tmp_path), "JAVA_HOME": ""}
    assert re.fullmatch(r"\[1, 4, 9\] .*/ddlrepl/java-\w+\n", run_alone("local[2]", **environment))


def test_spark_that_does_not_start() -> None:
    text = ALONE.format(master="nowhere://x", remote="")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240, env=env)
    assert "DdlReplError: SPK-104: Spark does not start at nowhere://x: " in done.stderr


def test_spark_connect(runner: SparkRunner) -> None:
    assert run_alone("", "local[2]").startswith("[1, 4, 9]")
