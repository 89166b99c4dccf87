"""An app that goes on from the task's process: a program of its own all the same, without importing again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import preload
from airflow_ddlrepl.hooks import local_app
from airflow_ddlrepl.hooks.forked import can_fork
from tests.airflow.test_local_app import CHANNEL, TELLS, all_end

# A process with one thread, as a task of Airflow's is; its app is the file in the first argument.
STARTS = """
import atexit, logging, os, signal, socket, sys, warnings
from airflow_ddlrepl.hooks.forked import Forked

to_airflow = socket.socketpair()

signal.signal(signal.SIGTERM, lambda *_: print("the task's handler"))
sys.stdout = open(1, "w", buffering=1)  # as Airflow has them: they close their streams' numbers
sys.stderr = open(2, "w", buffering=1)
atexit.register(lambda: print("ends", os.getpid() == starter))
logging.basicConfig(handlers=[logging.StreamHandler(sys.stdout)], level=logging.INFO)
warnings.showwarning = lambda *_: print("the task's warnings")
starter = os.getpid()
app = Forked(sys.argv[1], sys.argv[2:], {"DDLREPL_STARTED_BY": str(starter), "MINE": "yes"})
print("group of its own", os.getpgid(app.pid) == app.pid != os.getpgid(0), flush=True)
for line in app.stdout:
    print("app:", line, end="", flush=True)
    if "hangs" in line:
        os.kill(app.pid, signal.SIGTERM)
print("code", app.wait())
"""

WARNS = """
import os, warnings

warnings.formatwarning = lambda message, kind, file, *_: f"{os.path.basename(file)}: {message}\\n"
warnings.warn("old")
"""

SOCKETS = """
import os

places = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
print([place for place in places if "socket:" in place])
"""


def started(folder: Path, app: str, *arguments: str) -> list[str]:
    """What such a process prints."""
    file = folder / "app.py"
    file.write_text(app)
    environment = {**os.environ, "DDLREPL_SPARK_MASTER": "local[2]"}
    done = subprocess.run(
        [sys.executable, "-c", STARTS, str(file), *arguments],
        capture_output=True, text=True, timeout=180, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("app", "lines", "code"),
    [
        ("import os, sys; print(__name__, sys.argv[1:], os.environ['MINE'])", ["__main__ ['--a', 'b'] yes"], 0),
        ("import sys; sys.exit(3)", [], 3),
        (SOCKETS, ["[]"], 0),
        ("import sys; sys.exit('a reason')", ["a reason"], 1),
        ("import sys; sys.stderr.write('by stderr\\n')", ["by stderr"], 0),
        (WARNS, ["app.py: old"], 0),
        ("import logging; logging.basicConfig(format='%(message)s'); logging.error('x')", ["x"], 0),
        ("import time; print('hangs', flush=True); time.sleep(60)", ["hangs"], -15),
    ],
)
def test_it_ends_as_a_program_does(tmp_path: Path, app: str, lines: list[str], code: int) -> None:
    """With its own arguments, streams, log and signals; what the task does at its end is the task's alone."""
    wanted = ["group of its own True", *(f"app: {line}" for line in lines), f"code {code}", "ends True"]
    assert started(tmp_path, app, "--a", "b") == wanted


def test_an_error_is_told_with_its_place(tmp_path: Path) -> None:
    told = started(tmp_path, "raise ValueError('what is wrong')")
    assert "app: ValueError: what is wrong" in told and told[-2] == "code 1"


@pytest.mark.usefixtures("spark")
def test_spark_begins_in_it(tmp_path: Path) -> None:
    channel, result = tmp_path / "shop.yaml", tmp_path / "result.json"
    channel.write_text(CHANNEL)
    told = started(tmp_path, TELLS, "--channel", str(channel), "--run", "one", "--result", str(result))
    assert "code 0" in told and '"numbers": [1, 2]' in result.read_text(), told


def test_a_process_with_threads_is_not_copied() -> None:
    """A lock that another thread holds would stay locked in the copy."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    assert not can_fork()
    ended.set()
    thread.join()


def test_only_apps_of_ours_without_variables_are_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables may be for the interpreter that starts."""
    found: list[str] = []
    monkeypatch.setattr(local_app, "can_fork", lambda: True)
    monkeypatch.setattr(local_app, "Forked", lambda *_: found.append("a copy"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: found.append("a new one"))
    for fresh in (False, True):
        hook: Any = object.__new__(local_app.LocalAppHook)
        hook._fresh = fresh
        hook._started("app.py", [], {})
    assert found == ["a copy", "a new one"]


def test_who_starts_an_app_and_is_killed_takes_it_along(tmp_path: Path) -> None:
    channel, result = tmp_path / "shop.yaml", tmp_path / "result.json"
    channel.write_text(CHANNEL)
    app = tmp_path / "app.py"
    app.write_text(
        "import os, time; from airflow_ddlrepl.spark_apps.main import main\n"
        "def hang(*_): print('group', os.getpgid(0), flush=True); time.sleep(600)\n"
        "main('capture', hang)"
    )
    given = [str(app), "--channel", str(channel), "--run", "one", "--result", str(result)]
    with subprocess.Popen([sys.executable, "-c", STARTS, *given], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        line = next(line for line in starter.stdout if line.startswith("app: group"))
        starter.kill()
        starter.communicate(timeout=30)  # the app has the pipe, too: it has ended
    assert all_end(int(line.split()[2]))


@pytest.mark.parametrize(
    ("command", "forks"),
    [
        (["airflow", "scheduler"], True), (["/bin/airflow", "celery", "worker"], True),
        (["airflow", "api-server"], False), (["airflow", "dag-processor"], False), (["pytest"], False),
    ],
)  # fmt: skip
def test_what_tasks_import_is_imported_where_they_are_forked_from(command: list[str], forks: bool) -> None:
    assert preload.forks_tasks(command) is forks


def test_everything_that_is_imported_beforehand_is_there() -> None:
    assert [name for name in preload.modules() if find_spec(name) is None] == []


@pytest.mark.parametrize("wanted", ["true", "False"])
def test_the_scheduler_imports_it_when_it_loads_the_plugin(tmp_path: Path, wanted: str) -> None:
    """Airflow finds the plugin by its entry point."""
    code = (
        "import sys; sys.argv = ['airflow', 'scheduler']\n"
        "from airflow.listeners.listener import get_listener_manager; get_listener_manager()\n"
        "print([name in sys.modules for name in ('airflow_ddlrepl.flow', 'airflow_ddlrepl.spark_apps.main', 'pandas')])"
    )
    environment = {**os.environ, "AIRFLOW__DDLREPL__PRELOAD": wanted, "AIRFLOW_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.splitlines()[-1:] == [str([wanted == "true"] * 3)], done.stderr
