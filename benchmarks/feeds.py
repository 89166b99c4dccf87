"""The change feed, and a Python data source that does nothing but read its files, against Spark's own Parquet reader.

What lies between the first two is the change feed's own; no Python data source is quicker than the second.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks import ours
from benchmarks.feed_once import ACTIONS, FEED, PLAIN, SPARK
from benchmarks.pairs import Figure, Pair
from benchmarks.ratios import Bench, databases
from benchmarks.workload import Kind, change, prepare

COMPARED = ((FEED, SPARK), (PLAIN, SPARK), (FEED, PLAIN))
ROUNDS_TO_WARM_UP = 3


def feeds(bench: Bench, kind: Kind, wanted: int) -> list[Figure]:
    """Every change of a table, read in three ways; nobody keeps the rows, or all columns are hashed into one number."""
    name = f"feed_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        done, _ = change(source, kind, wanted, 0)
        mine.capture(done)
    found: dict[tuple[str, str, str], list[Pair]] = {(action, *of): [] for action in ACTIONS for of in COMPARED}
    rounds = bench.pairs + ROUNDS_TO_WARM_UP
    command = [sys.executable, "-m", "benchmarks.feed_once", str(path), kind.name, str(rounds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for number, line in enumerate(process.stdout or ()):
            one = json.loads(line)
            action, seconds = one["action"], one["seconds"]
            assert one["rows"] == done, f"{one['rows']} changes of {done}"
            if number % rounds < ROUNDS_TO_WARM_UP:
                continue
            for side, peer in COMPARED:
                found[action, side, peer].append(Pair(done, seconds[side], seconds[peer]))
            ratios = ", ".join(f"{a} / {b} x{found[action, a, b][-1].ratio:.2f}" for a, b in COMPARED)
            bench.say(f"{kind.name}, {action}: {ratios}")
    if process.returncode:
        raise RuntimeError("the measured readers failed")
    return [Figure(f"{a} / {b}, {kind.name}, {action}", tuple(pairs)) for (action, a, b), pairs in found.items()]
