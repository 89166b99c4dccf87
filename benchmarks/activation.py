"""Many tables activated with their rows, and what a DDL statement costs at a source that has event triggers of ours."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from benchmarks import ours
from benchmarks.many import Channel
from benchmarks.pairs import Figure, Pair, Seconds, show, show_seconds
from benchmarks.peers import PATIENCE, program, without_password
from benchmarks.ratios import Bench, check, databases

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.driver import Connection

EACH, ROWS = 5, 3
AT_MOST = 60.0
COLUMNS = (
    "(id bigint PRIMARY KEY, account int, amount numeric(12,2), state text DEFAULT 'new',"
    " changed timestamptz, note text)"
)
STATEMENTS: dict[str, Callable[[int], str]] = {
    "ALTER TABLE … ADD COLUMN, a table of the channel": lambda n: f"ALTER TABLE public.t{n % 10} ADD COLUMN x{n} int",
    "the same, a table of no channel": lambda n: f"ALTER TABLE other.t{n % 10} ADD COLUMN x{n} int",
    "CREATE TABLE of no channel": lambda n: f"CREATE TABLE other.n{n} {COLUMNS}",
    "DROP TABLE of no channel": lambda n: f"DROP TABLE other.n{n}",
    "CREATE INDEX on a table of the channel": lambda n: f"CREATE INDEX i{n} ON public.t{n % 10} (account)",
    "DROP INDEX of it": lambda n: f"DROP INDEX public.i{n}",
    "CREATE TEMP TABLE": lambda n: f"CREATE TEMP TABLE p{n} {COLUMNS}",
    "ALTER of a temporary table": lambda n: f"ALTER TABLE p{n} ADD COLUMN x int",
    "DROP of a temporary table": lambda n: f"DROP TABLE p{n}",
}


def activations(bench: Bench, schemas: int) -> None:
    """Print the time of an activation that loads all tables of many schemas, against pg_dump piped into psql."""
    found: list[Pair] = []
    for number in range(bench.pairs):
        source, copy, peer = databases(bench, f"schemas{number}", f"copy{number}", f"peer{number}")
        with connect(source) as connection:
            for schema in range(schemas):
                _fill(connection, f"s{schema}", EACH, ROWS)
        path = ours.write_channel(bench.folder, f"schemas{number}", "*", source, copy)
        path.write_text(path.read_text().replace('"public.*"', '"*.*"'))
        bench.settle()
        dumped = _dumped(source, peer, bench.folder)  # first: activation leaves event triggers there
        bench.settle()
        with ours.opened(path, bench.runner) as mine:
            started = time.monotonic()
            mine.activate()
            took = time.monotonic() - started
        found.append(Pair(schemas * EACH, took, dumped))
        check(source, copy)
        check(source, peer)
        bench.say(f"{schemas * EACH} tables activated {number + 1}/{bench.pairs}: {took:.1f} s, x{found[-1].ratio:.2f}")
    what = f"activate {schemas * EACH:,} tables in {schemas} schemas"
    show_seconds([Seconds(what, AT_MOST, tuple(pair.ours for pair in found))])
    show([Figure(f"{what} / pg_dump | psql", tuple(found))])


def statements(bench: Bench, sizes: tuple[int, int], count: int) -> None:
    """Print the time of DDL statements without a channel, and with one of few and one of many tables."""
    (plain,) = databases(bench, "plainddl")
    with connect(plain) as connection:
        _fill(connection, "public", 10, 0)
    places = {"no channel": plain}
    for size in sizes:
        places[f"{size:,} tables"] = Channel(bench, f"ddl{size}", size).source
    took: dict[str, dict[str, list[float]]] = {what: {name: [] for name in places} for what in STATEMENTS}
    for place in places.values():
        with connect(place) as connection:
            _fill(connection, "other", 10, 0)
    for turn in range(bench.pairs + 1):  # the first one only warms up
        for name, place in places.items():
            with connect(place) as connection:
                for what, text in STATEMENTS.items():
                    started = time.monotonic()
                    for number in range(turn * count, (turn + 1) * count):
                        connection.execute(text(number).encode())
                    if turn:
                        took[what][name].append((time.monotonic() - started) / count * 1e6)
        bench.say(f"DDL statements {turn}/{bench.pairs}")
    table = Table(title="microseconds of a DDL statement, median, on this machine, in this run")
    for name in ("statement", *places):
        table.add_column(name)
    for what, found in took.items():
        table.add_row(what, *(f"{statistics.median(seconds):,.0f}" for seconds in found.values()))
    Console(width=130).print(table)


def _fill(connection: Connection[Any], schema: str, tables: int, rows: int) -> None:
    creates = [f"CREATE SCHEMA IF NOT EXISTS {schema}"]
    for number in range(tables):
        creates.append(f"CREATE TABLE {schema}.t{number} {COLUMNS}")
        if rows:
            values = "i, i, i, 'sent', now(), 'note'"
            creates.append(f"INSERT INTO {schema}.t{number} SELECT {values} FROM generate_series(1, {rows}) i")
    connection.execute("; ".join(creates).encode())


def _dumped(source: str, peer: str, folder: Path) -> float:
    """Seconds of pg_dump piped into psql."""
    (here, theirs), (there, mine) = without_password(source), without_password(peer)
    started = time.monotonic()
    with (folder / "dump.log").open("wb") as log:
        dump = [program("pg_dump"), "-d", here]
        load = [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", there]
        writing = subprocess.Popen(dump, stdout=subprocess.PIPE, stderr=log, env=theirs)
        subprocess.run(load, stdin=writing.stdout, stdout=log, stderr=log, env=mine, timeout=PATIENCE, check=True)
        assert writing.wait(PATIENCE) == 0
    return time.monotonic() - started
