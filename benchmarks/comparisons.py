"""A comparison against reading both sides by COPY, and row-wise refreshes of few differences against a bulk one."""

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

DIFFERENCES = {
    "scattered": "UPDATE {table} SET account = -1 WHERE hashint8(id) % {one_in} = 0",
    "side by side": "UPDATE {table} SET account = -1 WHERE id BETWEEN {rows} / 2 AND {rows} / 2 + {rows} / {one_in}",
    "scattered and missing": "DELETE FROM {table} WHERE hashint8(id) % {one_in} = 0",
}
"""How they come about."""


def comparisons(bench: Bench, kind: Kind, rows: int) -> list[Figure]:
    """Compares equal tables; then each row-wise refresh mends as many rows, and the peer is a bulk refresh of ours."""
    name = f"compare_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    fill(source, kind, rows)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    compared: list[Pair] = []
    refreshed: dict[str, list[Pair]] = {how: [] for how in DIFFERENCES}
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        mine.refresh(kind.name)
        for number in range(1, bench.pairs + 1):
            read = partial(peers.read_both, (source, copy), kind)
            compared.append(measure(rows, mine.compare, read, number, bench.settle))
            for how, pairs in refreshed.items():
                by_row = partial(_refresh_by_row, mine, copy, kind, how, rows)
                pairs.append(measure(rows, by_row, partial(mine.refresh, kind.name), number, bench.settle))
            ratios = ", ".join(f"{how} x{pairs[-1].ratio:.2f}" for how, pairs in refreshed.items())
            bench.say(
                f"{kind.name} {number}/{bench.pairs}: compare x{compared[-1].ratio:.2f}, row-wise refresh {ratios}"
            )
    check(source, copy)
    return [
        Figure(f"compare {kind.name}: ours / COPY of both sides at once to /dev/null", tuple(compared)),
        *(
            Figure(f"refresh {kind.name} row by row, 0.1 % differ, {how} / in bulk", tuple(pairs))
            for how, pairs in refreshed.items()
        ),
    ]


def _refresh_by_row(mine: ours.Ours, copy: str, kind: Kind, how: str, rows: int) -> float:
    """Seconds of a row-wise refresh; before that, rows are made to differ."""
    table = f"public.{quote(kind.name)}"
    with connect(copy) as connection:
        connection.execute(DIFFERENCES[how].format(table=table, one_in=ONE_IN, rows=rows).encode())
    return mine.refresh(kind.name, "-gr")
