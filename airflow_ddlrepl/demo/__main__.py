"""Run the demo, `python -m airflow_ddlrepl.demo` or `make demo`: the main job on real input, on two private servers.

Exit code: 0 when source and target are equal at the end, and the rewinds and the backfill are, too; else 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from airflow_ddlrepl.demo.airflow_database import isolate
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError

REVISIONS = 124


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and return its exit code."""
    options = _arguments(arguments)
    folder = Path(options.keep or tempfile.mkdtemp(prefix="ddlrepl-demo-")).resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    isolate(folder)
    is_equal = False
    try:
        is_equal = _run(folder, options)
    except DdlReplError as error:
        print(error, file=sys.stderr)
    if is_equal and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"everything the demo wrote is in {folder}", file=sys.stderr)
    return 0 if is_equal else 1


def _run(folder: Path, options: argparse.Namespace) -> bool:
    from airflow_ddlrepl.demo import cycles
    from airflow_ddlrepl.demo.backfill_check import backfill
    from airflow_ddlrepl.demo.report import Watch, show

    started = time.monotonic()
    with Watch(2 * REVISIONS) as watch:
        watch.doing("starting two PostgreSQL servers")
        with PrivateServer("source") as source, PrivateServer("target") as target:
            databases = (source.create_database("airflow"), *map(target.create_database, ("airflow", "past")))
            place = cycles.Place(folder, *databases)
            place.prepare()
            since = datetime.now(UTC)
            replicate_once = cycles.in_process(place) if options.in_process else cycles.by_dag(place, watch)
            report = cycles.run(place, options.seed, options.cycles, watch, replicate_once)
            if not options.in_process:
                watch.doing("backfilling: a scheduler replays all of it in two intervals")
                state = target.create_database("scheduler")
                report.add_backfill(backfill(place.channel, state, place.source, place.past, since))
    report.seconds = time.monotonic() - started
    show(report.lines())
    if options.json:
        options.json.write_text(json.dumps(report.to_json(), indent=1, default=str))
    return not report.differences


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m airflow_ddlrepl.demo", description=__doc__)
    parser.add_argument("--cycles", type=int, default=12, help="DAG runs to the last revision, 2 or more")
    parser.add_argument("--seed", type=int, default=1, help="of the rows written")
    parser.add_argument(
        "--in-process", action="store_true", help="without Airflow's DAG and Spark: the stages right here"
    )
    parser.add_argument("--keep", metavar="DIR", help="work in this folder and keep it")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report there, too")
    options = parser.parse_args(arguments)
    if options.cycles < 2:  # in a single one, nothing tells a table's rows between a USING clause and the end
        parser.error("--cycles must be 2 or more")
    return options


if __name__ == "__main__":
    sys.exit(main())
