"""Take Airflow's database from its first revision to its last while a channel replicates it: the demo's main part.

In about a dozen cycles: run some revisions with rows written between them, then run the channel's Airflow DAG.
Then rewind, in another database, to the source's contents before some of the revisions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from airflow_ddlrepl.compare.report import Comparison
from airflow_ddlrepl.demo.airflow_database import AirflowDatabase
from airflow_ddlrepl.demo.airflow_run import DagRunResult, PrivateAirflow
from airflow_ddlrepl.demo.checksums import compare as ask_servers
from airflow_ddlrepl.demo.checksums import read_checksums
from airflow_ddlrepl.demo.lake.check import check_lake
from airflow_ddlrepl.demo.output import to_log
from airflow_ddlrepl.demo.report import CycleReport, DemoReport, Watch
from airflow_ddlrepl.demo.rewind_check import BEFORE, SourceState, check_rewind, read_source_state
from airflow_ddlrepl.demo.steps import Size
from airflow_ddlrepl.demo.suspension_check import check_suspension
from airflow_ddlrepl.demo.workload.airflow_invariants import restore
from airflow_ddlrepl.demo.workload.rows import RowWriter
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow import activate, compare, open_channel, replicate
from airflow_ddlrepl.ports.work import InProcess

CHANNEL = """\
channel: demo
source:
  location: demo_source          # Airflow connection ids
  tables: ["public.*"]
targets:
  - name: copy
    location: demo_target
adapt_ddl:
  - add_table_pattern: "*"
repository: sqlite:///{folder}/repository.db
trail: {folder}/trail
"""
REPLAYS = """\
rewind_horizon:
  age: 7d
replays:
  - name: past
    location: demo_past
"""
FILES = {"duckdb": "duckdb://{folder}/copy.duckdb", "iceberg": "iceberg://{folder}/lake/catalog.db"}
"""Locations of the kinds of target that are files: no server refuses rows there, and no rewind is built there."""


@dataclass(frozen=True)
class Place:
    """A place is the folder of a demo, and its three databases (URLs)."""

    folder: Path
    source: str
    target: str
    past: str

    @property
    def channel(self) -> Path:
        """Return the path of the channel file."""
        return self.folder / "demo.yaml"

    @property
    def is_file(self) -> bool:
        """Is the target a file?"""
        return self.target.partition(":")[0] in FILES

    def prepare(self) -> None:
        """Write the channel file, and give this process the three Airflow connections."""
        self.channel.write_text(CHANNEL.format(folder=self.folder) + ("" if self.is_file else REPLAYS))
        os.environ["DDLREPL_HOME"] = str(self.folder)
        os.environ["AIRFLOW_CONN_DEMO_SOURCE"] = self.source
        os.environ["AIRFLOW_CONN_DEMO_TARGET"] = self.target
        os.environ["AIRFLOW_CONN_DEMO_PAST"] = self.past


def activate_channel(channel: Path) -> None:
    """Activate the channel, as `ddlrepl activate` does."""
    with open_channel(channel, InProcess()) as cycle:
        activate(cycle)


def compared(channel: Path) -> Comparison:
    """Return what `ddlrepl compare` finds."""
    with open_channel(channel, InProcess()) as cycle:
        return compare(cycle)


def run(place: Place, seed: int, size: Size, watch: Watch, replicate_once: Callable[[], DagRunResult]) -> DemoReport:
    """Run the demo on servers that are up, and return its report. Raises DdlReplError DEM-101 when a cycle fails."""
    report = DemoReport()
    notes: list[SourceState] = []
    cycles = size.cycles
    with AirflowDatabase(place.source) as database:
        writer = RowWriter(seed, size.rows)
        watch.begin("activating the channel")
        _begin(place, database, writer, size, watch)
        watch.begin(f"{cycles} cycles of migrations and rows")
        for number, revisions in enumerate(portions(database.revisions[size.first :], cycles), 1):
            watch.doing(f"cycle {number}/{cycles}: {len(revisions)} revisions of Airflow, rows between them")
            written = _migrate(place, database, revisions, writer, notes, watch)
            watch.doing(f"cycle {number}/{cycles}: replicating {written:,} row changes")
            report.cycles.append(_replicate(replicate_once, place, len(revisions), written))
            watch.step(len(revisions))
            watch.say(f"cycle {number}/{cycles}: {report.cycles[-1].line()}")
        if tuple(database.done) != database.revisions:
            report.differences.append(f"only {len(database.done)} of {len(database.revisions)} revisions ran")
    if not place.is_file:
        watch.begin("the target refuses a row of one table, and takes it a cycle later")
        report.add_suspension(check_suspension(place.source, place.target, replicate_once))
    watch.begin("comparing every table, column and row")
    _compare(place, report)
    if place.is_file:
        return report
    watch.begin("going back to earlier moments")
    for expected in notes:
        watch.doing(f"going back to before revision {expected.revision}")
        report.add_rewind(check_rewind(place.channel, "past", place.past, expected))
        watch.say(report.rewinds[-1].line())
    return report


def _begin(place: Place, database: AirflowDatabase, writer: RowWriter, size: Size, watch: Watch) -> None:
    """Run the first revisions and write rows, where the size has some; then activate the channel, which loads them."""
    if size.first:
        database.upgrade(database.revisions[size.first - 1])
        with connect(place.source, application_name="demo") as connection:
            written = writer.write(connection)
        watch.doing(f"loading {written:,} rows that the source has after {size.first} revisions")
    with to_log(place.folder / "activate.log"):
        activate_channel(place.channel)
    watch.say(f"the channel is active, on {'an empty database' if not size.first else f'revision {size.first}'}")


def by_dag(place: Place, watch: Watch) -> Callable[[], DagRunResult]:
    """Return the function that runs a cycle as one run of the channel's Airflow DAG."""
    airflow = PrivateAirflow(place.folder, place.channel)
    watch.doing("preparing Airflow")
    airflow.prepare()
    return airflow.run


def in_process(place: Place) -> Callable[[], DagRunResult]:
    """Return the function that runs a cycle in this process, without Airflow and Spark, which is quick."""

    def replicate_once() -> DagRunResult:
        try:
            with to_log(place.folder / "replicate.log"), open_channel(place.channel, InProcess()) as cycle:
                done = replicate(cycle).to_json()
        except DdlReplError as error:
            return DagRunResult(False, {}, {}, {"replicate": str(error)})
        return DagRunResult(True, done, {stage: done[stage]["seconds"] for stage in done})

    return replicate_once


def portions(revisions: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    """Split the revisions into `count` consecutive portions of about the same length."""
    cuts = [len(revisions) * i // count for i in range(count + 1)]
    return (revisions[low:high] for low, high in pairwise(cuts))


def _migrate(
    place: Place,
    database: AirflowDatabase,
    revisions: Sequence[str],
    writer: RowWriter,
    notes: list[SourceState],
    watch: Watch,
) -> int:
    written = 0
    with connect(place.source, application_name="demo") as connection:
        for revision in revisions:
            notes += [read_source_state(place.source, revision)] if revision in BEFORE else []
            restore(connection, revision)
            database.upgrade(revision)
            written += writer.write(connection)
            watch.step()
    return written


def _replicate(replicate_once: Callable[[], DagRunResult], place: Place, revisions: int, written: int) -> CycleReport:
    result = replicate_once()
    if not result.succeeded:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in result.failures.items())
        raise DdlReplError(f"the DAG run failed: {reasons}", code="DEM-101", hint=f"logs are in {place.folder}")
    return CycleReport(revisions, written, result.returned, result.seconds)


def _compare(place: Place, report: DemoReport) -> None:
    """Compare twice: as a user would, and by checksums that two servers compute themselves; a file only once.

    A lake is compared by its readers, too.
    """
    found = compared(place.channel)
    report.differences += found.lines()
    if place.is_file:
        report.tables, report.columns = len(found.tables), sum(one.columns for one in found.tables)
        report.rows = sum(one.target_rows for one in found.tables)
        if place.target.startswith("iceberg:"):
            tables = {name: list(facts.columns) for name, facts in read_checksums(place.source).items()}
            report.add_lake(check_lake(place.source, place.target, tables))
        return
    diff = ask_servers(place.source, place.target)
    report.tables, report.columns, report.rows = diff.tables, diff.columns, diff.rows
    report.differences += diff.differences
