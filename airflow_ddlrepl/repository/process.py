"""This module finds out whether the process that took a lock on this machine still lives: nobody waits for the dead."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

_PROC = Path("/proc")


def this_holder() -> str:
    """Return this process for people who read the lock: user, host, process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"


def this_process() -> str | None:
    """Return this process's identity for is_gone(); None where the machine doesn't show it."""
    return _identity(os.getpid())


def is_gone(process: str | None) -> bool:
    """Did the process run on this machine and surely end? On another machine the lease decides."""
    here = _scope()
    if process is None or here is None or not process.startswith(here + "/"):
        return False
    try:
        number = int(process.split("/")[-2])
        return _identity(number) != process and not _is_hidden(number)
    except (ValueError, IndexError):
        return False


def _is_hidden(number: int) -> bool:
    """Is there a process of this number that `/proc` does not show? With `hidepid` it shows none of another user."""
    try:
        os.kill(number, 0)
    except PermissionError:
        return not (_PROC / str(number)).exists()
    except OSError:
        return False
    return False


def _scope() -> str | None:
    """Return the part of an identity that all processes of this boot and this process namespace share."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return None


def _identity(pid: int) -> str | None:
    scope = _scope()
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    is_dead = fields[0] in ("Z", "X")
    return None if scope is None or is_dead else f"{scope}/{pid}/{fields[19]}"
