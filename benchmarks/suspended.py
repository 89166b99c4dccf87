"""A cycle of 500 tables with changes, of which the target refuses one table's, against one where it refuses none."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from benchmarks import ours
from benchmarks.many import Channel
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import Bench, check

CHANGES = 20
REFUSE = "ALTER TABLE public.t0 ADD CONSTRAINT refuses CHECK (false) NOT VALID"
ACCEPT = "ALTER TABLE public.t0 DROP CONSTRAINT refuses"


def cycles(bench: Bench, tables: int) -> list[Figure]:
    """The table is suspended by the first round, which only warms up, and tried again in each that is measured."""
    case, base = Channel(bench, "suspended", tables), Channel(bench, "calm", tables)
    _say(case, REFUSE)
    found: list[Pair] = []
    what = f"{tables} tables changed, one of them suspended / none"
    for number in range(bench.pairs + 1):
        for channel in (case, base):
            channel.change(tables, CHANGES)
        pair = measure(tables * CHANGES, lambda: _refused(case), base.replicate, number, bench.settle)
        if number:
            found.append(pair)
            bench.say(f"{what} {number}/{bench.pairs}: x{pair.ratio:.2f}")
    _say(case, ACCEPT)
    for channel in (case, base):
        channel.replicate()
        check(channel.source, channel.copy)
    return [Figure(what, tuple(found))]


def _refused(channel: Channel) -> float:
    """Seconds of a cycle that fails by the name of the suspended table, and applies all others."""
    with ours.opened(channel.path, channel.bench.runner) as mine:
        return mine.replicate_refused("public.t0")


def _say(channel: Channel, statement: str) -> None:
    with connect(channel.copy) as connection:
        connection.execute(statement.encode())
