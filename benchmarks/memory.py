"""Memory: the peak resident set of stages, all processes, for a small and a large amount.

Capture, integrate and refresh of a channel; instantiation of an apply process of Oracle Streams, which runs no Spark.

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
from airflow_ddlrepl.flow.admin.activate import activate
from airflow_ddlrepl.ports.work import InProcess
from benchmarks import ours
from benchmarks.workload import NARROW, prepare

PAUSE = 0.05
STAGES = ("capture", "integrate", "refresh")
STREAMS = """\
adapt_ddl:
  - add_table_pattern: "*"
streams:
  source_database: site1
  calls:
    - add_global_rules: {{streams_type: capture, streams_name: cap, queue_name: q}}
    - add_global_rules: {{streams_type: apply, streams_name: app, queue_name: q, source_database: site1}}
  targets:
    - {{name: copy, location: {target}, apply: app}}
"""


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
        found.append(_instantiated(folder, here, target.create_database(f"applied{rows}"), rows))
    return found


def _instantiated(folder: Path, source: str, target: str, rows: int) -> Peak:
    """The table of the source comes to an apply process, whose target does not have it."""
    path = ours.write_channel(folder, f"applied{rows}", NARROW.name, source, target)
    channel, _, targets = path.read_text().partition("targets:\n")
    path.write_text(channel + targets[targets.index("repository:") :] + STREAMS.format(target=target))
    with ours.opened(path, InProcess()) as mine:
        activate(mine.run, load=False)
    peak = _peak(path, "instantiate", rows)
    _must_hold(target, rows)
    return peak


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
