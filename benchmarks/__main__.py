"""`python -m benchmarks`: three ratios on a 6-column and a 20-column table, and the memory of a large transaction.

Both sides run in turns on the same machine in the same run, so what counts is the ratio, not the rate. The servers
are private ones without fsync. Results are compared before they count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.spark.runner import SparkRunner
from benchmarks import memory, ours, ratios
from benchmarks.pairs import Figure, show
from benchmarks.workload import KINDS

SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "wal_retrieve_retry_interval": "100ms",
}
PARTS = ("changes", "refresh", "memory")


def main(arguments: list[str] | None = None) -> int:
    given = _arguments(arguments)
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True)

    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as name,
        PrivateServer("source", settings=SETTINGS) as source,
        PrivateServer("target", settings=SETTINGS) as target,
    ):
        folder = Path(name)
        runner = SparkRunner()
        bench = ratios.Bench(source, target, folder, runner, given.changes, given.pairs, say)
        try:
            if {"changes", "refresh"} & set(given.parts):
                ours.warm(runner)
                say("two servers and Spark are up")
            for kind in (KINDS[name] for name in given.tables):
                if "changes" in given.parts:
                    figures += ratios.changes(bench, kind)
                if "refresh" in given.parts:
                    figures += ratios.refreshes(bench, kind)
        finally:
            runner.stop()
        if figures:
            show(figures)
        if "memory" in given.parts:
            _memory(source, target, folder, given.rows)
    say("done")
    return 0


def _memory(source: PrivateServer, target: PrivateServer, folder: Path, rows: int) -> None:
    empty, full = memory.measure(source, target, folder, rows)
    mib = 1 << 20
    print(
        f"capture of one transaction of {rows:,} rows: peak {full.resident // mib:,} MiB resident in all processes"
        f" in {full.seconds:.0f} s; of one row: {empty.resident // mib:,} MiB in {empty.seconds:.0f} s;"
        f" difference {(full.resident - empty.resident) // mib:,} MiB"
    )


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--changes", type=int, default=2_000_000, help="row changes per measurement (and rows)")
    parser.add_argument("--pairs", type=int, default=3, help="measurements of each side")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the large transaction")
    parser.add_argument("--tables", nargs="+", choices=sorted(KINDS), default=sorted(KINDS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
