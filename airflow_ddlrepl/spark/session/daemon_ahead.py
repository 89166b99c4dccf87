"""Start the daemon of a local Spark's Python workers while Java starts: what it imports takes seconds.

Spark starts that daemon when it has a first task for Python. One that was started ahead waits at a socket in a private
folder; the program that Spark starts hands everything that it got from Spark over to it, and lives as long as it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

VARIABLE = "DDLREPL_DAEMON_AHEAD"
"""Variable: the socket at which a daemon waits."""

HASH_SEED = "PYTHONHASHSEED"
_waiting: list[subprocess.Popen[bytes]] = []
"""The daemons that this process has started; one that waits ends when this process does."""


def start_daemon(module: str) -> str:
    """Start the daemon; return the socket at which it will wait.

    Its hash seed is what Spark sets: 0, unless a variable names one.
    """
    path = Path(tempfile.mkdtemp(prefix="ddlrepl-daemon-")) / "socket"
    environment = {**os.environ, HASH_SEED: os.environ.get(HASH_SEED, "0")}
    command = [sys.executable, "-m", module, f"{VARIABLE}={path}"]
    _waiting.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment))
    return str(path)


def socket_of(arguments: list[str]) -> str:
    """Return the socket that a program is to wait at, by its arguments; empty: Spark has started it."""
    name, _, path = arguments[1].partition("=") if len(arguments) > 1 else ("", "", "")
    return path if name == VARIABLE else ""


def await_spark(path: str, prepare: Callable[[], None]) -> socket.socket | None:
    """Prepare, wait for Spark's program, and become what it is; None: the process that has started this one has ended.

    The connection that is returned stays open as long as this process lives.
    """
    os.setpgid(0, 0)  # Ctrl-C is for the others
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(path)
        except OSError:  # a path can be too long for a socket; Spark starts a daemon of its own then
            _remove(path)
            return None
        listener.listen(1)
        prepare()
        is_there = listener in select.select([listener, sys.stdin], [], [])[0]
        _remove(path)
        if not is_there:
            return None
        connection, _ = listener.accept()
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    with connection.makefile("rb") as file:
        given = json.loads(file.read())
    os.environ.clear()
    os.environ.update(given["environment"])
    sys.argv[:], sys.path[:] = given["arguments"], given["path"]
    os.chdir(given["folder"])
    return connection


def hand_over() -> bool:
    """Hand what this program got from Spark to the daemon that waits, and wait for its end; False: there is none."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.environ[VARIABLE])
        except (KeyError, OSError):
            return False
        given = {
            "environment": {name: value for name, value in os.environ.items() if name != VARIABLE},
            "arguments": sys.argv,
            "path": sys.path,
            "folder": os.getcwd(),
        }
        socket.send_fds(connection, [b" "], [0, 1, 2])
        connection.sendall(json.dumps(given).encode())
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    return True


def _remove(path: str) -> None:
    for remove, place in ((os.unlink, path), (os.rmdir, os.path.dirname(path))):
        with suppress(OSError):
            remove(place)
