"""Memory: the peak resident set of capture, integrate and refresh, all processes, for a small and a large amount.

Each stage runs in a process of its own: the app, its JVM and its Python workers count. One transaction holds all
changes of a capture.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.ports.work import InProcess
from benchmarks import ours
from benchmarks.workload import NARROW, prepare

PAUSE = 0.05
STAGES = ("capture", "integrate", "refresh")


@dataclass(frozen=True)
class Peak:
    """resident: bytes, summed over the processes (shared pages count in each). seconds: whole run, start included."""

    stage: str
    rows: int
    resident: int
    seconds: float


def measure(source: PrivateServer, target: PrivateServer, folder: Path, sizes: Sequence[int]) -> list[Peak]:
    """Each stage with each number of rows: written in one transaction, captured, integrated, then refreshed."""
    found = []
    for rows in sizes:
        here, there = source.create_database(f"memory{rows}"), target.create_database(f"memory{rows}")
        prepare(here, NARROW)
        path = ours.write_channel(folder, f"memory{rows}", NARROW.name, here, there)
        with ours.opened(path, InProcess()) as mine:
            mine.activate()
        with connect(here) as connection:
            connection.execute(NARROW.insert("1", str(rows)).encode())
        found += [_peak(path, stage, rows) for stage in STAGES]
        _must_hold(there, rows)
    return found


def _peak(channel: Path, stage: str, rows: int) -> Peak:
    started = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.stage_once", str(channel), stage, NARROW.name]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(PAUSE)
    if process.returncode:
        raise RuntimeError(f"the measured {stage} failed")
    return Peak(stage, rows, peak, time.monotonic() - started)


def _must_hold(dsn: str, rows: int) -> None:
    with connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM public.{NARROW.name}".encode()).fetchone()
        assert row == (rows,), row


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
