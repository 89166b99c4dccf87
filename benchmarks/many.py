"""Many tables: the same changes spread over 500 tables, and a few changes among 2,000 enrolled ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from benchmarks import ours
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.processor import processor_seconds
from benchmarks.ratios import Bench, check, databases

BATCH = 100
GOAL = 1.8
ENDED = 1.0  # after so many seconds sessions that were closed have ended: their server has their processor time


def tables(bench: Bench) -> list[Figure]:
    """Ours against ours: the second of each pair is the case with few tables."""
    spread = Channel(bench, "many", 500)
    one = Channel(bench, "one", 1)
    large = Channel(bench, "enrolled2000", 2000)
    little = Channel(bench, "enrolled10", 10)
    found = [
        _compared(bench, "10,000 changes: in one table / in 500 tables", (spread, 500, 20), (one, 1, 10_000)),
        _compared(bench, "10 tables changed: of 10 / of 2,000 enrolled", (large, 10, 20), (little, 10, 20)),
    ]
    for channel in (spread, one, large, little):
        check(channel.source, channel.copy)
    return found


def changed_tables(bench: Bench, count: int) -> list[Figure]:
    """Tables with a row and an ALTER each, against 1.8 times the rows in 10 tables and what the servers need for it.

    What the servers need: the source's decodes the log, and a plain database at the target's runs the same statements,
    each measured by itself in the same round. The goal is read in two ways: 1.8 times both together, and 1.8 times the
    rows alone plus the servers. A ratio of 1 and more reaches it. The last two figures are processor time: ours, with
    Spark's workers, and the servers' on both sides.
    """
    many, few = Channel(bench, "changed", count), Channel(bench, "changed10", 10)
    (plain,) = databases(bench, "changedplain", "copy")[1:]
    found: list[tuple[Pair, ...]] = []
    with connect(plain) as connection:
        for number in range(count):
            connection.execute(_create(number).encode())
    for number in range(bench.pairs + 1):
        alters = [f"ALTER TABLE public.t{n} ADD COLUMN extra{number} int" for n in range(count)]
        rows = [f"INSERT INTO public.t{n} (id) VALUES ({number})" for n in range(count)]
        statements = [one for pair in zip(rows, alters, strict=True) for one in pair]
        with connect(many.source) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        few.change(10, max(20, count // 10 // 20 * 20))
        sides: list[Callable[[], float]] = [
            many.decode,
            partial(_run, plain, statements),
            few.replicate,
            many.replicate,
        ]
        (log, plainly, little, ours) = (_taken(bench, side) for side in sides)
        if not number:  # the first round only warms up
            continue
        pairs = [
            Pair(count, mine, wanted)
            for mine, ten, one, other in zip(ours, little, log, plainly, strict=True)
            for wanted in (GOAL * (ten + one + other), GOAL * ten + one + other)
        ]
        found.append(tuple(pairs))
        for what, place in (("seconds", 0), ("of processors", 1)):
            told = [f"{side[place]:.2f}" for side in (ours, little, log, plainly)]
            bench.say(
                f"{number}/{bench.pairs} {what}: ours {told[0]}, in 10 tables {told[1]}, log {told[2]}, SQL {told[3]}"
            )
    for channel in (many, few):
        check(channel.source, channel.copy)
    what = f"{count:,} tables, a row and an ALTER each: / {GOAL} x"
    ways = (f"{what} (the rows in 10 tables + the servers)", f"{what} the rows in 10 tables + the servers")
    names = (*ways, *(f"{way}, processor time" for way in ways))
    return [Figure(name, tuple(each)) for name, each in zip(names, zip(*found, strict=True), strict=True)]


def _taken(bench: Bench, work: Callable[[], float]) -> tuple[float, float]:
    """Return the seconds of the clock, and of all processors, that some work takes."""
    servers = (bench.source, bench.target)
    bench.settle()
    time.sleep(ENDED)
    before = processor_seconds(servers)
    return work(), processor_seconds(servers) - before


def _run(dsn: str, statements: list[str]) -> float:
    """Seconds that a server takes for these statements, one after the other in one transaction."""
    started = time.monotonic()
    with connect(dsn) as connection, connection.transaction():
        for statement in statements:
            connection.execute(statement.encode())
    return time.monotonic() - started


class Channel:
    """So many small tables, replicated once. target: a location; empty: a database of the target's server."""

    def __init__(self, bench: Bench, name: str, count: int, target: str = "") -> None:
        self.bench, self.count = bench, count
        self.source, self.copy = databases(bench, name, "copy")
        with connect(self.source) as connection:
            for low in range(0, count, BATCH):
                creates = [_create(n) for n in range(low, min(low + BATCH, count))]
                connection.execute("; ".join(creates).encode())
        self.path: Path = ours.write_channel(bench.folder, name, "*", self.source, target or self.copy)
        with ours.opened(self.path, bench.runner) as mine:
            mine.activate()
            mine.replicate()
        self.key = 0

    def change(self, tables: int, changes: int) -> None:
        """So many changes in each of the first tables, 20 per transaction."""
        low = self.key
        self.key += changes
        with connect(self.source) as connection:
            connection.execute(
                f"DO $$ BEGIN FOR n IN 0 .. {tables - 1} LOOP FOR k IN {low // 20} .. {(low + changes) // 20 - 1} LOOP"
                f" EXECUTE format('INSERT INTO public.t%s SELECT i, i, i, i::text, now(), %L"
                f" FROM generate_series(%s, %s) i', n, 'note', k * 20 + 1, k * 20 + 20); COMMIT;"
                f" END LOOP; END LOOP; END $$".encode()
            )

    def decode(self) -> float:
        """Seconds that the source's server takes to decode what is not captured yet, and for nothing else."""
        channel = load_channel(self.path)
        options = ["proto_version", "1", "publication_names", quote(channel.publication), "messages", "true"]
        started = time.monotonic()
        with connect(self.source) as connection:
            connection.execute(
                "SELECT count(*) FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, VARIADIC %s::text[])",
                [channel.slot, [*options, "binary", "true"]],
            )
        return time.monotonic() - started

    def compare(self) -> float:
        with ours.opened(self.path, self.bench.runner) as mine:
            return mine.compare()

    def replicate(self) -> float:
        with ours.opened(self.path, self.bench.runner) as mine:
            return mine.replicate()


def _create(number: int) -> str:
    return (
        f"CREATE TABLE public.t{number}"
        " (id bigint PRIMARY KEY, account int, amount numeric(12,2), state text, changed timestamptz, note text)"
    )


def _compared(bench: Bench, what: str, case: tuple[Channel, int, int], base: tuple[Channel, int, int]) -> Figure:
    found: list[Pair] = []
    for number in range(bench.pairs + 1):
        for channel, count, changes in (case, base):
            channel.change(count, changes)
        pair = measure(case[1] * case[2], case[0].replicate, base[0].replicate, number, bench.settle)
        if number:  # the first round only warms up
            found.append(pair)
            bench.say(f"{what} {number}/{bench.pairs}: x{pair.ratio:.2f}")
    return Figure(what, tuple(found))
