"""Run the demo, `python -m airflow_ddlrepl.demo` or `make demo`: the main job on real input, on two private servers.

Exit code: 0 when source and target are equal at the end, and the rewinds and the backfill are, too; else 1. 130 when it
was interrupted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.demo.steps import FULL, QUICK, REVISIONS, Size, Step, announcement, steps

if TYPE_CHECKING:
    from airflow_ddlrepl.demo.cycles import Place
    from airflow_ddlrepl.demo.report import DemoReport, Watch
    from airflow_ddlrepl.demo.servers import PrivateServer

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and return its exit code."""
    options = _arguments(arguments)
    size = _size(options)
    plan = steps(size, by_dag=not options.in_process, has_page=options.page, is_file=options.target != "postgresql")
    print("\n".join(announcement(plan)), file=sys.stderr, flush=True)  # before anything that takes time to import
    from airflow_ddlrepl.demo.airflow_database import isolate
    from airflow_ddlrepl.errors import DdlReplError

    folder = Path(options.keep or tempfile.mkdtemp(prefix="ddlrepl-demo-")).resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    isolate(folder)
    interrupted = _listen()
    code = 1
    try:
        code = 0 if _run(folder, options, size, plan) else 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    except DdlReplError as error:  # Airflow takes an interrupted task for a failed one
        code = INTERRUPTED if interrupted else 1
        if not interrupted:
            print(error, file=sys.stderr)
    if code == INTERRUPTED:
        print("the demo was interrupted; its servers are stopped", file=sys.stderr)
    if code != 1 and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"everything the demo wrote is in {folder}", file=sys.stderr)
    return code


def _listen() -> list[int]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt; return the list to which each such signal is added."""
    heard: list[int] = []

    def interrupt(number: int, _: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    return heard


def _run(folder: Path, options: argparse.Namespace, size: Size, plan: list[Step]) -> bool:
    from airflow_ddlrepl.demo import cycles
    from airflow_ddlrepl.demo.report import Watch, show
    from airflow_ddlrepl.demo.servers import PrivateServer

    started = time.monotonic()
    with Watch(plan, 2 * (REVISIONS - size.first)) as watch:
        watch.begin("starting two PostgreSQL servers")
        with PrivateServer("source") as source, PrivateServer("target") as target:
            airflow, past = map(target.create_database, ("airflow", "past"))
            copy = cycles.FILES.get(options.target, airflow).format(folder=folder)
            place = cycles.Place(folder, source.create_database("airflow"), copy, past)
            place.prepare()
            since = datetime.now(UTC)
            replicate_once = cycles.in_process(place) if options.in_process else cycles.by_dag(place, watch)
            report = cycles.run(place, options.seed, size, watch, replicate_once)
            if size.is_backfilled and not options.in_process and not place.is_file:
                _backfill(place, target, report, watch, since)
            report.seconds = time.monotonic() - started
            watch.pause()
            show(report.lines())
            _write(report, options.json)
            if options.page:
                _look_at(place, target, watch)
    return not report.differences


def _backfill(place: Place, target: PrivateServer, report: DemoReport, watch: Watch, since: datetime) -> None:
    from airflow_ddlrepl.demo.backfill_check import backfill

    watch.begin("backfilling: a scheduler replays all of it in two intervals")
    state = target.create_database("scheduler")
    report.add_backfill(backfill(place.channel, state, place.source, place.past, since))


def _look_at(place: Place, target: PrivateServer, watch: Watch) -> None:
    from airflow_ddlrepl.demo.looking import look_at, until_interrupted

    watch.begin("starting an Airflow to look at")
    look_at(place, target.create_database("asked"), target.create_database("page"), watch, until_interrupted)


def _write(report: DemoReport, file: Any) -> None:
    if file:
        file.write_text(json.dumps(report.to_json(), indent=1, default=str))


def _size(options: argparse.Namespace) -> Size:
    size = QUICK if options.quick else FULL
    return size if options.cycles is None else replace(size, cycles=options.cycles)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m airflow_ddlrepl.demo", description=__doc__)
    parser.add_argument("--cycles", type=int, help="DAG runs to the last revision, 2 or more; default: 12, quick 2")
    parser.add_argument("--seed", type=int, default=1, help="of the rows written")
    parser.add_argument("--quick", action="store_true", help="fewer migrations and rows, no backfill: two minutes")
    parser.add_argument("--page", action="store_true", help="then start an Airflow with the demo's channels")
    parser.add_argument(
        "--in-process", action="store_true", help="without Airflow's DAG and Spark: the stages right here"
    )
    parser.add_argument(
        "--target", choices=("postgresql", "duckdb", "iceberg"), default="postgresql", help="what it replicates to"
    )
    parser.add_argument("--keep", metavar="DIR", help="work in this folder and keep it")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report there, too")
    options = parser.parse_args(arguments)
    if options.cycles is not None and options.cycles < 2:  # one has no rows between a USING clause and its end
        parser.error("--cycles must be 2 or more")
    if options.target != "postgresql" and options.page:
        parser.error("--page shows channels whose targets are PostgreSQL databases")
    return options


if __name__ == "__main__":
    sys.exit(main())
