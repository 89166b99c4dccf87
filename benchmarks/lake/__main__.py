"""The part `lake` in a process of its own; `--scale 0.01 --pairs 1` runs it in some minutes."""

from __future__ import annotations

import argparse

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from benchmarks import ours
from benchmarks.lake.merges import merges
from benchmarks.lake.tables import loads, many, scans, windows
from benchmarks.pairs import show, show_seconds
from benchmarks.ratios import saying, servers

ROWS, TABLES, WINDOWS = 5_000_000, 100, 200
SECTIONS = ("merges", "many", "loads", "scans", "windows")
ANY = "iceberg:///any/catalog.db"
"""The location that Spark is started for: whatever the lake, it needs the same jars."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--sections", nargs="+", default=SECTIONS, choices=SECTIONS)
    given = parser.parse_args()
    rows = max(5_000, int(ROWS * given.scale))
    runner = SparkRunner(SparkSettings(targets=(ANY,)))
    with servers(runner, given.pairs, saying()) as bench:
        try:
            ours.warm(runner)
            bench.say("two servers and Spark are up")
            if "merges" in given.sections:
                show(merges(bench, rows))
            if "many" in given.sections:
                show_seconds(many(bench, max(10, int(TABLES * given.scale))))
            if "loads" in given.sections:
                figures, seconds = loads(bench, rows)
                show(figures)
                show_seconds(seconds)
            if "scans" in given.sections:
                show(scans(bench, rows))
            if "windows" in given.sections:
                show_seconds(windows(bench, rows // 10, max(10, int(WINDOWS * given.scale))))
        finally:
            runner.stop()


if __name__ == "__main__":
    main()
