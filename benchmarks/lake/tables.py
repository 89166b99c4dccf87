"""Many tables of a lake, its loads, and what must not depend on a table's size."""

from __future__ import annotations

import os
import subprocess
import time
from functools import partial

import psutil

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.merge.stage import UPDATE
from airflow_ddlrepl.flow import by_arguments
from airflow_ddlrepl.model.names import TableName
from benchmarks.lake.place import KIND, Lake, Took, in_turns, loaded, location, taken
from benchmarks.many import Channel
from benchmarks.pairs import Figure, Seconds
from benchmarks.peers import program, without_password
from benchmarks.ratios import Bench

WINDOW, FLIP, DEFAULT = 60, 5, 1


def many(bench: Bench, count: int) -> list[Seconds]:
    """Seconds of a cycle with 20 changes in each of so many tables, and of their flip."""
    channel = Channel(bench, "lake_many", count, location(bench.folder, "lake_many"))
    cycles, flips = [], []
    for number in range(bench.pairs + 1):
        channel.change(count, 20)
        took, processors = taken(bench, channel.replicate)
        flip = _flip(location(bench.folder, "lake_many"), count, number)
        bench.say(f"{count} tables {number}/{bench.pairs}: {took:.1f} s ({processors:.1f}), flip {flip:.2f} s")
        if number:
            cycles.append(took)
            flips.append(flip)
    channel.compare()
    return [
        Seconds(f"{count} tables of a lake with 20 changes each", WINDOW * count / 100, tuple(cycles)),
        Seconds(f"flip of {count} tables", FLIP * count / 100, tuple(flips)),
    ]


def _flip(place: str, count: int, number: int) -> float:
    """Return the seconds in which a comment on each table becomes visible, and is taken back."""
    window = Window(place, "w_bench_flip")
    names = [TableName("public", f"t{n}") for n in range(count)]
    window.stage(names)
    for name in names:
        run(window, f"ALTER TABLE `{name.schema}`.`{name.name}` RENAME COLUMN `note` TO `note{number}`")
        run(window, f"ALTER TABLE `{name.schema}`.`{name.name}` RENAME COLUMN `note{number}` TO `note`")
    window.commit()
    started = time.monotonic()
    with writing(place) as connection:
        window.flip(connection)
    return time.monotonic() - started


def loads(bench: Bench, rows: int) -> tuple[list[Figure], list[Seconds]]:
    """A table loaded again against COPY to /dev/null, and ADD COLUMN DEFAULT of that table."""
    with loaded(bench, "lake_load", rows) as lake:
        rates: list[float] = []

        def ours() -> Took:
            took = taken(bench, lambda: lake.channel.refresh(KIND.name))
            rates.append(rows / took[1])
            return took

        found = in_turns(bench, "full load: ours / COPY TO /dev/null", rows, ours, partial(_copied, bench, lake))[:1]
        bench.say(f"rows per processor second: {', '.join(f'{rate:,.0f}' for rate in rates[1:])}")
        return found, [_added_column(bench, lake)]


def _copied(bench: Bench, lake: Lake) -> Took:
    place, environment = without_password(lake.source)
    command = [program("psql"), "-qd", place, "-c", f"COPY {KIND.name} TO STDOUT"]
    with open(os.devnull, "wb") as nothing:
        return taken(bench, lambda: subprocess.run(command, check=True, stdout=nothing, env=environment))


def _added_column(bench: Bench, lake: Lake) -> Seconds:
    found = []
    for number in range(bench.pairs + 1):
        add = f"ALTER TABLE `public`.`{KIND.name}` ADD COLUMN `extra{number}` INT DEFAULT CAST('7' AS INT)"
        started = time.monotonic()
        with lake.window(is_seen=True) as (window, _):
            run(window, add)
        found.append(time.monotonic() - started)
    return Seconds("ADD COLUMN DEFAULT, whole window", DEFAULT, tuple(found[1:]))


def scans(bench: Bench, rows: int, count: int = 20) -> list[Figure]:
    """A whole table read after so many windows, and after maintenance, against its first snapshot in turns."""
    with loaded(bench, "lake_scan", rows) as lake:
        with lake.window() as (window, table):
            first = java_table(window.spark, table).currentSnapshot().snapshotId()
        for number in range(count):
            _change_a_little(lake, number)
        sides = (partial(_scanned, bench, lake), partial(_scanned, bench, lake, f"VERSION AS OF {first}"))
        found = in_turns(bench, f"scan after {count} windows / of the loaded table", rows, *sides)
        done = by_arguments.maintain(lake.channel.run, small_files="2", deleted_percent="1")
        bench.say(f"maintenance: {done.tables} in {done.seconds} s")
        return found + in_turns(bench, "the same after maintenance", rows, *sides)


def _scanned(bench: Bench, lake: Lake, version: str = "") -> Took:
    with lake.window() as (window, table):
        return taken(bench, lambda: window.spark.sql(f"SELECT sum(hash(*)) FROM {table} {version}").collect())


def _change_a_little(lake: Lake, number: int) -> None:
    """Update a thousandth of the rows, all over the table, in a window that readers see."""
    with lake.window(is_seen=True) as (window, table):
        change = lake.net_change(table, {UPDATE: f"id % 1000 = {number % 1000}"})
        merge(window.spark, table, lake.name, lake.shape, [change])


def windows(bench: Bench, rows: int, count: int) -> list[Seconds]:
    """Memory of Spark over so many windows, each of which changes a thousandth of a table's rows."""
    with loaded(bench, "lake_windows", rows) as lake:
        peaks = []
        for number in range(count):
            _change_a_little(lake, number)
            peaks.append(_resident())
        fifth = max(1, count // 5)
        before, after = (max(some) for some in (peaks[fifth : 2 * fifth] or peaks[:1], peaks[-fifth:]))
        what = f"memory after {count} windows, times that of the second fifth of them"
        bench.say(f"{what}: {after >> 20:,} MiB, {before >> 20:,} MiB")
        return [Seconds(what, 1.2, (after / before,))]


def _resident() -> int:
    """Return the bytes of this process and of Spark's, without those of the servers."""
    members = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(int(one.memory_info().rss) for one in members if "postgres" not in one.name())
