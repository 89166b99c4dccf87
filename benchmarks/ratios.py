"""The three ratios for one kind of table: capture, integrate, refresh."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from airflow_ddlrepl.demo.checksums import compare
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import Runner
from benchmarks import ours, peers
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.workload import Kind, change, fill, log_end, mark, prepare

Say = Callable[[str], None]
WARM_UP = 200_000
SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "wal_retrieve_retry_interval": "100ms",
}


@dataclass(frozen=True)
class Bench:
    """What all measurements share. pairs: measurements of each side."""

    source: PrivateServer
    target: PrivateServer
    folder: Path
    runner: Runner
    pairs: int
    say: Say

    def settle(self) -> None:
        """Nothing is left to write of what was done before."""
        for server in (self.source, self.target):
            with connect(server.dsn()) as connection:
                connection.execute(b"CHECKPOINT")
        os.sync()


def saying() -> Say:
    """Return what tells how far it is, with the seconds since now."""
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:5.0f} s] {text}", file=sys.stderr, flush=True)

    return say


@contextmanager
def servers(runner: Runner, pairs: int, say: Say) -> Iterator[Bench]:
    """Yield what measurements share, with two private servers and a folder."""
    with (
        tempfile.TemporaryDirectory(prefix="ddlrepl-bench-") as name,
        PrivateServer("source", settings=SETTINGS) as source,
        PrivateServer("target", settings=SETTINGS) as target,
    ):
        yield Bench(source, target, Path(name), runner, pairs, say)


def changes(bench: Bench, kind: Kind, wanted: int) -> list[Figure]:
    """Capture against pg_recvlogical, integrate against a native subscription, on the same changes."""
    source, copy, native = databases(bench, kind.name, "copy", "native")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, kind.name, kind.name, source, copy)
    captures: list[Pair] = []
    limits: dict[int, list[Pair]] = {1: [], bench.runner.parallelism: []}
    integrates: list[Pair] = []
    both: list[Pair] = []
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        peers.make_slot(source, f"peer_{kind.name}")
        peers.make_slot(source, f"native_{kind.name}")
        subscription = peers.Subscription(source, native, kind, mine.publication, f"native_{kind.name}")
        low = position(source)
        for number in range(bench.pairs + 1):
            amount = wanted if number else min(wanted, WARM_UP)
            done, _ = change(source, kind, amount, number)
            until = mark(source, kind, 2 * number + 1)
            mark(source, kind, 2 * number + 2)
            received = partial(peers.receive, source, f"peer_{kind.name}", mine.publication, until)
            first = measure(done, partial(mine.capture, done + 2), received, number, bench.settle)
            decoded = {
                count: peers.decode(source, f"native_{kind.name}", mine.publication, low, until, count)
                for count in limits
            }
            low = until
            applied = partial(subscription.apply, 2 * number + 2)
            second = measure(done, mine.integrate, applied, number, bench.settle)
            if number:  # the first round only warms up
                captures.append(first)
                integrates.append(second)
                for count, seconds in decoded.items():
                    limits[count].append(Pair(done, first.ours, seconds))
                both.append(Pair(done, first.ours + second.ours, second.peer))
                bench.say(
                    f"{kind.name} {number}/{bench.pairs}: capture x{first.ratio:.2f}, integrate x{second.ratio:.2f}"
                )
        subscription.drop()
    check(source, copy)
    check(source, native)
    return [
        Figure(f"capture {kind.name}: Spark to Parquet / pg_recvlogical to /dev/null", tuple(captures)),
        *(
            Figure(f"capture {kind.name}: the same / the server's own decoding, {count} session(s)", tuple(pairs))
            for count, pairs in limits.items()
        ),
        Figure(f"integrate {kind.name}: ours / native subscription (which decodes, too)", tuple(integrates)),
        Figure(f"capture + integrate {kind.name} / native subscription", tuple(both)),
    ]


def refreshes(bench: Bench, kind: Kind, rows: int) -> list[Figure]:
    """Refresh against COPY | COPY with as many processes."""
    name = f"refresh_{kind.name}"
    source, copy, peer = databases(bench, name, "copy", "peer")
    prepare(source, kind)
    fill(source, kind, rows)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    found: list[Pair] = []
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        for number in range(1, bench.pairs + 1):
            pair = measure(
                rows,
                lambda: mine.refresh(kind.name),
                lambda: peers.copy_across(source, peer, kind, bench.runner.parallelism),
                number,
                bench.settle,
            )
            found.append(pair)
            bench.say(f"{kind.name} {number}/{bench.pairs}: refresh x{pair.ratio:.2f}")
    check(source, copy)
    check(source, peer)
    return [Figure(f"refresh {kind.name}: ours / COPY | COPY, {bench.runner.parallelism} processes", tuple(found))]


def databases(bench: Bench, name: str, *sides: str) -> tuple[str, ...]:
    """One at the source, the others at the target."""
    there = (bench.target.create_database(f"{name}_{side}") for side in sides)
    return (bench.source.create_database(name), *there)


def clear(bench: Bench) -> None:
    """Drops the databases of what is measured already, with their slots: they would keep the log of what follows."""
    for server in (bench.source, bench.target):
        with connect(server.dsn()) as connection:
            found = connection.execute(
                "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> current_database()"
            ).fetchall()
        for (name,) in found:
            server.drop_database(name)


def position(dsn: str) -> Position:
    """The log's end."""
    with connect(dsn) as connection:
        return log_end(connection)


def check(source: str, target: str) -> None:
    """A fast copy that is no copy counts for nothing."""
    differences = compare(source, target).differences
    assert not differences, differences
