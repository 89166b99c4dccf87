"""The daemon of Python workers that is started while Java starts, and what Spark's own program does with it."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.spark.session import daemon_ahead
from airflow_ddlrepl.spark.session.daemon_ahead import VARIABLE, start_daemon
from airflow_ddlrepl.spark.session.session import _daemon_ahead
from airflow_ddlrepl.spark.session.settings import DAEMON, WORKER_DAEMON

SECONDS = 60
OURS = {DAEMON: WORKER_DAEMON, "spark.master": "local[2]"}
ROOT = Path(__file__).parents[2]
ALONE = """
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from tests.spark.support import tasks

runner = SparkRunner(SparkSettings("local[2]"))
print("daemons:", runner.map(tasks.daemon, [1, 2, 3], "who"))
runner.stop()
"""


class Daemon:
    """A daemon that waits, and a program that is started as Spark does, with an environment of its own."""

    def __init__(self, folder: Path, path: str) -> None:
        self.waiting = daemon_ahead._waiting[-1]
        environment = {
            **os.environ,
            VARIABLE: path,
            "PYTHON_UNIX_DOMAIN_ENABLED": "true",
            "PYTHON_WORKER_FACTORY_SOCK_DIR": str(folder),
        }
        self.program = subprocess.Popen(
            [sys.executable, "-m", WORKER_DAEMON, "pyspark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert self.program.stdin and self.program.stdout
        self.stdin, stdout = self.program.stdin, self.program.stdout
        length = struct.unpack("!i", stdout.read(4))[0]
        self.socket = stdout.read(length).decode()

    @property
    def server(self) -> int:
        """The process that listens for Spark."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            pid: int = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            return pid


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: sockets have no others."""
    with tempfile.TemporaryDirectory(prefix="ddlrepl-") as name:
        yield Path(name)


@pytest.fixture
def path() -> Iterator[str]:
    path = start_daemon(WORKER_DAEMON)
    deadline = time.monotonic() + SECONDS
    while not Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield path
    waiting = daemon_ahead._waiting.pop()
    waiting.kill()
    waiting.wait()


def test_the_daemon_that_waits_gets_what_spark_gave(folder: Path, path: str) -> None:
    daemon = Daemon(folder, path)
    assert Path(daemon.socket).parent == folder, "it has the environment that Spark has set"
    assert daemon.server == daemon.waiting.pid
    assert not Path(path).parent.exists()
    daemon.stdin.close()  # so Spark ends it
    daemon.waiting.wait(SECONDS)
    assert daemon.program.wait(SECONDS) == 0


def test_a_program_ends_with_the_daemon(folder: Path, path: str) -> None:
    daemon = Daemon(folder, path)
    daemon.waiting.send_signal(signal.SIGKILL)
    assert daemon.program.wait(SECONDS) == 0, "else Spark would ask it for workers for ever"


def test_a_program_without_one_is_the_daemon(folder: Path, path: str) -> None:
    daemon = Daemon(folder, f"{path}.another")
    assert daemon.server == daemon.program.pid
    daemon.stdin.close()
    daemon.program.wait(SECONDS)


def test_it_ends_with_the_process_that_has_started_it(path: str) -> None:
    waiting = daemon_ahead._waiting[-1]
    assert waiting.stdin
    waiting.stdin.close()
    assert waiting.wait(SECONDS) == 0
    assert not Path(path).parent.exists()


def test_a_path_that_is_too_long_means_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    path = start_daemon(WORKER_DAEMON)
    assert daemon_ahead._waiting.pop().wait(SECONDS) == 0
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("changed", "variables"),
    [
        ({"spark.executorEnv.PYTHONHASHSEED": "7"}, {}),
        ({"spark.executor.cores": "2"}, {}),
        ({DAEMON: "pyspark.daemon"}, {}),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--conf spark.executorEnv.A=b pyspark-shell"}),
        ({}, {"DDLREPL_SPARK_PROPERTIES_FILE": "/mine.conf"}),
    ],
)
def test_none_is_started_where_workers_get_an_environment_at_their_start(
    changed: dict[str, str], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with _daemon_ahead({**OURS, **changed}):
        assert VARIABLE not in os.environ


@pytest.mark.xdist_group("spark")
def test_a_session_of_its_own_has_one() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=300, check=True, env=environment
    )
    line = next(line for line in run.stdout.splitlines() if line.startswith("daemons:"))
    assert line.count(VARIABLE) == 3 and "pyspark.worker" not in line
