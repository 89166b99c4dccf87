"""Part `debezium`: a table of a lake catches up with its source, by `ddlrepl replicate` and by debezium-server-iceberg.

Both have loaded the table, and are stopped. A round makes changes at the source once, then each side, in turns, starts
as a process, Java and all, brings them into its own lake, and is stopped again. The clock runs from the start of the
process to the last snapshot, as the tables' metadata have it; for ours it is also told when the process has ended.
With `--warm` no start counts: ours runs in a warm Spark session, and the clock of theirs begins when it reads the log.
Theirs has its last commit when a snapshot has the row that was inserted last, whose key is below all others: the bounds
of a file tell it. Every value of both tables is compared with the source after the load and at the end, the number of
rows after each round.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import psutil
from pyiceberg.table import StaticTable

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings
from benchmarks import ours
from benchmarks.lake import values
from benchmarks.lake.debezium_server import MEMORY, DebeziumServer, java_program
from benchmarks.lake.place import KIND, Took, figures, location, taken
from benchmarks.ours import opened, warm
from benchmarks.pairs import show
from benchmarks.ratios import Bench, databases, saying, servers
from benchmarks.workload import fill, prepare

ROWS, CHANGES = 600_000, 500_000
SPARK = f"spark:\n  conf:\n    spark.driver.memory: {MEMORY}\n"
SUBREAPER = 36
"""Of prctl(2): orphans among this process's descendants become its children, whose processor time it can read."""

# Half are inserts, a third updates and the rest deletes, 100 in a transaction, all over the table. A key that has been
# deleted before is missed, so there are some fewer of these.
PROCEDURE = f"""
CREATE PROCEDURE public.change_lake(wanted bigint, number int, INOUT done bigint) LANGUAGE plpgsql AS $body$
DECLARE
  base bigint := (SELECT max(id) FROM public.{KIND.name});
  hit bigint;
  t int := 0;
BEGIN
  WHILE done < wanted LOOP
    {KIND.insert("base + 1", "base + 50")};
    UPDATE public.{KIND.name} SET amount = amount + 1, note = 'updated in ' || number || '.' || t
    WHERE id = ANY (ARRAY(SELECT 1 + abs(hashint8(base * 100 + k)::bigint) % base FROM generate_series(1, 33) AS k));
    GET DIAGNOSTICS hit = ROW_COUNT;
    done := done + 50 + hit;
    DELETE FROM public.{KIND.name}
    WHERE id = ANY (ARRAY(SELECT 1 + abs(hashint8(base * 100 + k)::bigint) % base FROM generate_series(51, 67) AS k));
    GET DIAGNOSTICS hit = ROW_COUNT;
    done := done + hit;
    base := base + 50;
    t := t + 1;
    COMMIT;
  END LOOP;
END $body$
"""


def measure(given: argparse.Namespace) -> None:
    """Print both ratios, by the clock and in processor time. given: as the command line has them."""
    with servers(InProcess(), given.pairs, saying()) as bench:
        source, catalog = databases(bench, KIND.name, "catalog")
        prepare(source, KIND)
        fill(source, KIND, ROWS)
        with connect(source) as connection:
            connection.execute(PROCEDURE.encode())
        java = java_program(given.java)
        peer = DebeziumServer(given.debezium, java, bench.folder / "peer", source, catalog, KIND.name)
        path = ours.write_channel(bench.folder, "ours", KIND.name, source, location(bench.folder, "ours_lake"))
        path.write_text(path.read_text() + SPARK)
        _load(bench, path, peer)
        amount = max(1, int(CHANGES * given.scale))
        _compare(bench, peer)
        what = f"{amount:,} changes of a lake's table: ddlrepl replicate / debezium-server-iceberg"
        if given.warm:
            with _in_warm_session(bench, path) as mine:
                found = figures(bench, f"{what}, both warm", amount, _rounds(bench, mine, peer, amount, is_warm=True))
        else:
            mine = partial(_command, "replicate", path)
            found = figures(bench, what, amount, _rounds(bench, mine, peer, amount))
        _compare(bench, peer)
        show(found)


def _load(bench: Bench, path: Path, peer: DebeziumServer) -> None:
    """Both load the whole table, which does not count, and stop."""
    bench.say(f"loaded by ours: {_command('activate', path)[0]:.0f} s")
    peer.install()
    started = time.monotonic()
    with peer.running() as process:
        while peer.written() < ROWS:
            assert process.poll() is None, peer.log()
            time.sleep(1)
        bench.say(f"loaded by debezium: {time.monotonic() - started:.0f} s")
        time.sleep(5)


@contextmanager
def _in_warm_session(bench: Bench, path: Path) -> Iterator[Callable[[], Took]]:
    """Yield what runs a cycle in this process and its Spark session, which the first round warms up."""
    runner = SparkRunner(SparkSettings(targets=(location(bench.folder, "ours_lake"),)))
    warm(runner)
    with opened(path, runner) as mine:
        yield lambda: taken(bench, mine.replicate)
    runner.stop()


def _rounds(
    bench: Bench, mine: Callable[[], Took], peer: DebeziumServer, amount: int, *, is_warm: bool = False
) -> Iterator[tuple[Took, Took]]:
    """Yield what each side took for the same changes; another one goes first every time."""
    for number in range(bench.pairs + 1):
        with connect(peer.source) as connection:
            done, *_ = connection.execute("CALL public.change_lake(%s, %s, 0)", [amount, number]).fetchone() or (0,)
            connection.execute(KIND.insert(str(-number - 1), str(-number - 1)).encode())
            (rows,) = connection.execute(f"SELECT count(*) FROM public.{KIND.name}".encode()).fetchone() or (0,)
        bench.say(f"{done + 1:,} changes, {rows:,} rows")
        sides = (partial(_replicate, bench, mine), partial(peer.catch_up, -number - 1, is_warm=is_warm))
        took = {}
        for side in (0, 1) if number % 2 else (1, 0):
            bench.settle()
            took[side] = sides[side]()
        for name, metadata in _pointers(bench, peer).items():
            found = values.count(metadata)
            assert found == rows, f"{name} has {found} rows, the source {rows}"
        yield took[0], took[1]


def _replicate(bench: Bench, cycle: Callable[[], Took]) -> Took:
    """Return what a cycle takes: the clock stops when its last snapshot was made, as the other side's does."""
    started = time.time()
    seconds, processor = cycle()
    snapshot = StaticTable.from_metadata(_pointer(bench)).current_snapshot()
    assert snapshot is not None and snapshot.timestamp_ms / 1000 > started, "nothing was committed"
    until = snapshot.timestamp_ms / 1000 - started
    bench.say(f"ours: {until:.2f} s to its last commit, {seconds:.2f} s to its end")
    return until, processor


def _command(name: str, path: Path) -> Took:
    """Return what a command of the product takes, with all processes that it starts, orphans too."""
    ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0)
    before = {child.pid for child in psutil.Process().children()}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    log = path.with_suffix(".log")
    started = time.monotonic()
    with log.open("wb") as said:
        command = [sys.executable, "-m", "airflow_ddlrepl.cli", name, str(path)]
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, processor = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    assert process.returncode == 0, log.read_text(errors="replace")[-4000:]
    while left := {child.pid for child in psutil.Process().children()} - before:
        for pid in left:
            usage = os.wait4(pid, 0)[2]
            processor += usage.ru_utime + usage.ru_stime
    return seconds, processor


def _pointer(bench: Bench) -> str:
    """Return where the metadata of our table are."""
    with closing(sqlite3.connect(bench.folder / "ours_lake" / "catalog.db")) as catalog:
        query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = 'public' AND table_name = ?"
        return str(catalog.execute(query, [KIND.name]).fetchone()[0])


def _pointers(bench: Bench, peer: DebeziumServer) -> dict[str, str]:
    return {"ours": _pointer(bench), "debezium": peer.pointer()}


def _compare(bench: Bench, peer: DebeziumServer) -> None:
    """Compare all values of both sides with the source's. Raises AssertionError when any differ."""
    file = bench.folder / "source.csv"
    values.export(peer.source, KIND, file)
    for side, metadata in _pointers(bench, peer).items():
        rows, unlike = values.differences(KIND, file, metadata)
        assert not unlike, f"{side}: rows that differ from the source, by column: {unlike}"
        bench.say(f"{side}: {rows:,} rows, all values are the source's")
