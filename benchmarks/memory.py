"""Memory of a capture: peak resident set of all its processes, JVM included, for one large transaction.

The capture runs as a process of its own; what counts is its peak above that of a capture of one row.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connect import connect
from airflow_ddlrepl.model.work import InProcess
from benchmarks import ours
from benchmarks.workload import NARROW, mark, prepare

PAUSE = 0.05


@dataclass(frozen=True)
class Peak:
    """resident: bytes, summed over the processes (shared pages count in each). seconds: whole run, start included."""

    resident: int
    seconds: float
    rows: int


def measure(source: PrivateServer, target: PrivateServer, folder: Path, rows: int) -> tuple[Peak, Peak]:
    """(capture of one row, capture of one transaction of so many rows)."""
    here, there = source.create_database("memory"), target.create_database("memory")
    prepare(here, NARROW)
    path = ours.write_channel(folder, "memory", NARROW.name, here, there)
    with ours.opened(path, InProcess()) as mine:
        mine.activate()
    mark(here, NARROW, 1)
    empty = _captured(path, 1)
    with connect(here) as connection:
        connection.execute(NARROW.insert("1", str(rows)).encode())
    return empty, _captured(path, rows)


def _captured(channel: Path, expected: int) -> Peak:
    started = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.capture_once", str(channel), str(expected)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(PAUSE)
    if process.returncode:
        raise RuntimeError("the measured capture failed")
    return Peak(peak, time.monotonic() - started, expected)


def _resident(pid: int) -> int:
    """Of the process and everything it started."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    total = 0
    for member in family:
        try:
            total += int(member.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return total
