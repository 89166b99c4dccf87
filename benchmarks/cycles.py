"""Whole cycles: log, trail and target, from the command line with Spark's start, and in a warm session."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from airflow_ddlrepl.demo.airflow_database import isolate
from airflow_ddlrepl.demo.airflow_run import PrivateAirflow
from benchmarks import ours, peers
from benchmarks.pairs import Figure, Pair, Seconds, measure
from benchmarks.ratios import Bench, check, databases
from benchmarks.workload import Kind, change, mark, prepare

BY_SPARK = (
    "from airflow_ddlrepl.spark.execute import runner; runner.SMALL_BYTES = 0;"
    " from airflow_ddlrepl.cli.__main__ import main; main()"
)


def cycles(bench: Bench, kind: Kind, cold: int, warm: int) -> list[Figure]:
    """cold, warm: changes per cycle from the command line, and in the session that is warm already."""
    source, copy, native = databases(bench, f"cycle_{kind.name}", "copy", "native")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, f"cycle_{kind.name}", kind.name, source, copy)
    figures: dict[str, list[Pair]] = {}
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        publication = mine.publication
    slot = f"native_cycle_{kind.name}"
    peers.make_slot(source, slot)
    subscription = peers.Subscription(source, native, kind, publication, slot)
    ways: list[tuple[str, int, Callable[[], float]]] = [
        (f"cycle {kind.name}, {cold:,} changes, with Spark's start", cold, lambda: by_command_line(path)),
        (f"cycle {kind.name}, {warm:,} changes, session warm", warm, lambda: _in_session(path, bench)),
    ]
    run = 0
    for what, amount, replicate in ways:
        for number in range(bench.pairs):
            done, _ = change(source, kind, amount, run)
            run += 1
            mark(source, kind, run)
            pair = measure(done, replicate, partial(subscription.apply, run), number, bench.settle)
            figures.setdefault(what, []).append(pair)
            bench.say(f"{what} {number + 1}/{bench.pairs}: x{pair.ratio:.2f}")
    subscription.drop()
    check(source, copy)
    check(source, native)
    return [Figure(f"{what} / native subscription", tuple(pairs)) for what, pairs in figures.items()]


def small(bench: Bench, kind: Kind, connect_url: str = "") -> list[Seconds]:
    """Seconds of cycles with nothing or little to do. connect_url: of a running Spark Connect server."""
    source, copy = databases(bench, f"small_{kind.name}", "copy")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, f"small_{kind.name}", kind.name, source, copy)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
    by_command_line(path)
    nothing = [by_command_line(path) for _ in range(bench.pairs)]
    airflow = _airflow(bench.folder, path)
    airflow.run()
    tasks = [_tasks(airflow) for _ in range(bench.pairs)]

    def thousand(run: int, *, forced: bool = False, **environment: str) -> float:
        change(source, kind, 1000, run)
        return by_command_line(path, forced=forced, **environment)

    cold = [thousand(n) for n in range(bench.pairs)]
    spark = [thousand(bench.pairs + n, forced=True) for n in range(bench.pairs)]
    lines = [
        Seconds("a cycle with nothing new, command line", 3, tuple(nothing)),
        Seconds("a cycle with nothing new, all tasks of a DAG run together", 15, tuple(tasks)),
        Seconds("a cycle of 1,000 changes, command line (no Spark: less than 1 MB)", 15, tuple(cold)),
        Seconds("a cycle of 1,000 changes, command line, by a Spark of its own", 15, tuple(spark)),
    ]
    if connect_url:
        runs = range(2 * bench.pairs, 3 * bench.pairs)
        warm = [thousand(n, forced=True, DDLREPL_SPARK_REMOTE=connect_url) for n in runs]
        lines.append(Seconds("a cycle of 1,000 changes, command line, by a Spark Connect server", 5, tuple(warm)))
    check(source, copy)
    return lines


def by_command_line(path: Path, *, forced: bool = False, **environment: str) -> float:
    """Seconds of `ddlrepl replicate`; forced: by Spark, however little there is. Raises CalledProcessError."""
    command = [sys.executable, *(["-c", BY_SPARK] if forced else ["-m", "airflow_ddlrepl.cli"]), "replicate", str(path)]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return time.monotonic() - started


def _in_session(path: Path, bench: Bench) -> float:
    with ours.opened(path, bench.runner) as mine:
        return mine.replicate()


def _airflow(folder: Path, path: Path) -> PrivateAirflow:
    isolate(folder)
    airflow = PrivateAirflow(folder, path)
    airflow.prepare()
    return airflow


def _tasks(airflow: PrivateAirflow) -> float:
    result = airflow.run()
    if not result.succeeded:
        raise RuntimeError(f"the DAG run failed: {result.failures}")
    return sum(seconds for task, seconds in result.seconds.items() if task != "dag")
