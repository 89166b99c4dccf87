"""A comparison against reading both sides by COPY, and a row-wise refresh of few differences against a bulk one."""

from __future__ import annotations

from functools import partial

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from benchmarks import ours, peers
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import Bench, check, databases
from benchmarks.workload import Kind, fill, prepare

ONE_IN = 1000
"""One row of so many differs at the target when it is refreshed row by row."""


def comparisons(bench: Bench, kind: Kind, rows: int) -> list[Figure]:
    """Compares equal tables; then each row-wise refresh mends as many rows, and the peer is a bulk refresh of ours."""
    name = f"compare_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    fill(source, kind, rows)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    compared: list[Pair] = []
    refreshed: list[Pair] = []
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        mine.refresh(kind.name)
        for number in range(1, bench.pairs + 1):
            read = partial(peers.read_both, (source, copy), kind)
            first = measure(rows, mine.compare, read, number, bench.settle)
            compared.append(first)
            by_row = partial(_refresh_by_row, mine, copy, kind)
            second = measure(rows, by_row, partial(mine.refresh, kind.name), number, bench.settle)
            refreshed.append(second)
            bench.say(
                f"{kind.name} {number}/{bench.pairs}: compare x{first.ratio:.2f}, row-wise refresh x{second.ratio:.2f}"
            )
    check(source, copy)
    return [
        Figure(f"compare {kind.name}: ours / COPY of both sides at once to /dev/null", tuple(compared)),
        Figure(f"refresh {kind.name} row by row, 0.1 % differ / in bulk", tuple(refreshed)),
    ]


def _refresh_by_row(mine: ours.Ours, copy: str, kind: Kind) -> float:
    """Seconds of a row-wise refresh; before that, rows all over the table are made to differ."""
    with connect(copy) as connection:
        connection.execute(f"UPDATE public.{quote(kind.name)} SET account = -1 WHERE id % {ONE_IN} = 0".encode())
    return mine.refresh(kind.name, "-gr")
