"""Start a Python file in a fork of this process, so that modules imported here need not be imported again."""

from __future__ import annotations

import io
import logging
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

PAUSE = 0.05
TASK_RUNNER = "airflow.sdk.execution_time.task_runner"


def can_fork() -> bool:
    """Return whether a fork of this process is safe: locks that other threads hold would stay locked in it for ever."""
    return sys.platform == "linux" and threading.active_count() == 1


class Forked:
    """This value is a running Python file, with as much of Popen's interface as its starter needs.

    It runs in a process group of its own.
    stdout: what it prints and logs. environment: variables besides those of this process.
    """

    def __init__(self, application: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become([application, *arguments], environment, writer)
        with suppress(PermissionError, ProcessLookupError):  # it does this itself, maybe later than it is to be ended
            os.setpgid(self.pid, self.pid)
        os.close(writer)
        self.stdout = io.open(reader, encoding="utf-8", errors="replace")  # noqa: SIM115, UP020 - its owner closes it

    def poll(self) -> int | None:
        """Return the exit code (negative: the signal that ended it); None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("the app", timeout or 0)
            time.sleep(PAUSE)
        self.stdout.close()
        return code


def _become(command: list[str], environment: Mapping[str, str], writer: int) -> NoReturn:
    """Run the file as a program of its own, and end with its exit code.

    Nothing leaves this function: its callers belong to the other process.
    """
    code = 1
    try:
        code = _run(command, environment, writer)
    finally:
        os._exit(code)


def _run(command: list[str], environment: Mapping[str, str], writer: int) -> int:
    former = (sys.stdin, sys.stdout, sys.stderr)  # an object that nobody holds any more would close its stream's number
    try:
        _let_go(writer)
        os.environ.update(environment)
        sys.argv = command
        return _exit_code(command[0])
    except BaseException:  # noqa: BLE001 - there is nobody above, and what is above belongs to another process
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        del former


def _exit_code(application: str) -> int:
    """Run the file and return the exit code that an interpreter would end with."""
    try:
        runpy.run_path(application, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    return 0


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


def _let_go(writer: int) -> None:
    """Release what the fork shares with its parent: signal handlers, streams, log handlers, warnings, files, Airflow.

    File descriptors stay in use: an object of the parent that is freed here closes its descriptor.
    """
    os.setpgid(0, 0)
    for sent in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(sent, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, place in ((nothing, 0), (writer, 1), (writer, 2)):
        os.dup2(source, place)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2:
            with suppress(OSError):  # that of the list itself, which is closed by now
                os.dup2(nothing, number)
    sys.stdout = io.open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115, UP020
    sys.stderr = io.open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115, UP020
    for handler in list(logging.root.handlers):
        logging.root.removeHandler(handler)
    warnings.showwarning = _show_warning  # Airflow's writes to a file that is gone here
    vars(sys.modules.get(TASK_RUNNER, sys)).pop("SUPERVISOR_COMMS", None)
