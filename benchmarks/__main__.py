"""`python -m benchmarks`: ratios against PostgreSQL's own programs, seconds of small cycles, memory of large amounts.

Both sides run in turns on the same machine in the same run, so what counts is the ratio, not the rate. The servers
are private ones without fsync. Results are compared before they count.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from airflow_ddlrepl.spark.execute.runner import SparkRunner
from benchmarks import (
    activation,
    apply_processes,
    comparisons,
    cycles,
    evaluations,
    feeds,
    files,
    growth,
    keys,
    long_trail,
    many,
    memory,
    ours,
    ratios,
    replays,
    rules,
    scheduled,
    suspended,
    transformations,
)
from benchmarks.lake import debezium
from benchmarks.lake.debezium_server import LOOKS, is_distribution
from benchmarks.pairs import show, show_peaks, show_seconds
from benchmarks.workload import KINDS, NARROW, Kind

CHANGES, KEYS, ROWS = 2_000_000, 500_000, 5_000_000
COLD, WARM = 5_000_000, 1_000_000
REPLAY, SEGMENTS = 5_000_000, 100_000
FEED = 5_000_000
TABLES = 500
CHANGED = 2_000
SCHEMAS = 300
DDL_TABLES, DDL_STATEMENTS = (10, 2_000), 60
MEMORY = (1_000_000, 20_000_000)
STATEMENTS = 100_000
APPLIED = 500_000
EVALUATED = 5_000_000
TRANSFORMED = 1_000_000
MEASURES: dict[str, Callable[[ratios.Bench, Kind, argparse.Namespace], None]] = {
    "changes": lambda bench, kind, given: show(ratios.changes(bench, kind, scaled(CHANGES, given))),
    "keys": lambda bench, kind, given: show(keys.integrates(bench, kind, scaled(KEYS, given))),
    "refresh": lambda bench, kind, given: show(ratios.refreshes(bench, kind, scaled(ROWS, given))),
    "file_changes": lambda bench, kind, given: show(files.changes(bench, kind, scaled(WARM, given))),
    "file_refresh": lambda bench, kind, given: show(files.refreshes(bench, kind, scaled(ROWS, given))),
    "compare": lambda bench, kind, given: show(comparisons.comparisons(bench, kind, scaled(ROWS, given))),
    "cycles": lambda bench, kind, given: show(cycles.cycles(bench, kind, scaled(COLD, given), scaled(WARM, given))),
    "small": lambda bench, kind, given: show_seconds(cycles.small(bench, kind, given.connect)),
    "many": lambda bench, _kind, _given: show(many.tables(bench)),
    "many_ddl": lambda bench, _kind, given: show(many.changed_tables(bench, max(20, scaled(CHANGED, given)))),
    "activate": lambda bench, _kind, given: activation.activations(bench, scaled(SCHEMAS, given)),
    "ddl_at_source": lambda bench, _kind, given: activation.statements(
        bench,
        (DDL_TABLES[0], max(DDL_TABLES[0] + 1, scaled(DDL_TABLES[1], given))),
        max(2, scaled(DDL_STATEMENTS, given)),
    ),
    "suspended": lambda bench, _kind, given: show(suspended.cycles(bench, max(2, scaled(TABLES, given)))),
    "replay": lambda bench, kind, given: show(replays.replays(bench, kind, scaled(REPLAY, given))),
    "feed": lambda bench, kind, given: show(feeds.feeds(bench, kind, scaled(FEED, given))),
    "apply": lambda bench, _kind, given: show(apply_processes.applies(bench, scaled(APPLIED, given))),
    "airflow": lambda bench, _kind, _given: show_seconds(scheduled.runs(bench)),
    "growth": lambda bench, kind, given: growth.measure(bench, kind, given.scale, given.picture),
    "plan": lambda bench, kind, given: show_seconds(long_trail.plans(bench, kind, scaled(SEGMENTS, given))),
}
OF_EACH_KIND = ("changes", "keys", "refresh", "file_changes", "file_refresh", "compare", "feed")
OF_ALL = (*MEASURES, "memory", "ddl", "rules", "transformations", "lake")
PARTS = (*OF_ALL, "debezium")


def scaled(amount: int, given: argparse.Namespace) -> int:
    return max(1, int(amount * given.scale))


def main(arguments: list[str] | None = None) -> int:
    given = options(arguments)
    say = ratios.saying()
    if "ddl" in given.parts:
        evaluations.measure(scaled(STATEMENTS, given))
    if "rules" in given.parts:
        rules.measure(scaled(EVALUATED, given))
    if "transformations" in given.parts:
        transformations.measure(scaled(TRANSFORMED, given))
    if "lake" in given.parts:  # whose Spark has other jars, so its Java is another one
        amounts = ["--scale", str(given.scale), "--pairs", str(given.pairs)]
        subprocess.run([sys.executable, "-m", "benchmarks.lake", *amounts], check=True)
    if "debezium" in given.parts:
        debezium.measure(given)
    if set(given.parts) <= {"ddl", "rules", "transformations", "lake", "debezium"}:
        return 0
    runner = SparkRunner()
    with ratios.servers(runner, given.pairs, say) as bench:
        try:
            if MEASURES.keys() & set(given.parts):
                ours.warm(runner)
                say("two servers and Spark are up")
            run_parts(bench, given)
        finally:
            runner.stop()
        if "memory" in given.parts:
            sizes = [scaled(size, given) for size in MEMORY]
            show_peaks(memory.measure(bench.source, bench.target, bench.folder, sizes))
    say("done")
    return 0


def run_parts(bench: ratios.Bench, given: argparse.Namespace) -> None:
    """All but `memory`, each shown when it is done. given: as `options` reads them."""
    for part in (part for part in MEASURES if part in given.parts):
        for kind in [KINDS[name] for name in given.tables] if part in OF_EACH_KIND else [NARROW]:
            MEASURES[part](bench, kind, given)
            ratios.clear(bench)


def options(arguments: list[str] | None) -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full amounts, e.g. 0.1")
    parser.add_argument("--pairs", type=int, default=5, help="measurements of each side")
    parser.add_argument("--tables", nargs="+", choices=sorted(KINDS), default=sorted(KINDS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=OF_ALL)
    parser.add_argument("--connect", default="", metavar="URL", help="of a running Spark Connect server, for `small`")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="SVG file that `growth` draws")
    parser.add_argument(
        "--debezium", type=Path, metavar="DIR", help=f"debezium-server-iceberg, for `debezium`: {LOOKS}"
    )
    parser.add_argument("--java", type=Path, metavar="HOME", help="Java 21 or newer, for `debezium`")
    parser.add_argument("--warm", action="store_true", help="in `debezium` neither side's start counts")
    given = parser.parse_args(arguments)
    if "debezium" in given.parts and not is_distribution(given.debezium):
        parser.error(f"the part debezium needs --debezium DIR: {LOOKS}")
    return given


if __name__ == "__main__":
    sys.exit(main())
