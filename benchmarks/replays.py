"""Replay: a rewind through changes that the trail holds, against their first integrate into the live target."""

from __future__ import annotations

from benchmarks import ours
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import WARM_UP, Bench, check, clear, databases
from benchmarks.workload import Kind, change, prepare


def replays(bench: Bench, kind: Kind, changes: int) -> list[Figure]:
    """Both from the same trail, each pair in databases of its own; the load that the replay begins with is empty.

    Timed: the whole stage, in the same warm session: claim, look at the log, stage, merge, record; of a rewind also
    its plan, clearing its place and restoring the load.
    """
    _pair(bench, kind, min(changes, WARM_UP), 0)  # only warms up
    pairs = tuple(_pair(bench, kind, changes, number) for number in range(1, bench.pairs + 1))
    return [Figure(f"replay {kind.name} / the first integrate of the same changes", pairs)]


def _pair(bench: Bench, kind: Kind, changes: int, number: int) -> Pair:
    name = f"replay{number}_{kind.name}"
    source, live, past = databases(bench, name, "live", "past")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, live, past)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        done, _ = change(source, kind, changes, number)
        mine.capture(done)
        pair = measure(done, mine.rewind, mine.integrate, number, bench.settle)
    check(source, live)
    check(source, past)
    clear(bench)
    bench.say(f"{kind.name} {number}/{bench.pairs}: replay x{pair.ratio:.2f}")
    return pair
