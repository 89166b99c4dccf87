"""Integrate when every key is changed once, and when every key is changed ten times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from benchmarks import ours, peers
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import Bench, check, databases
from benchmarks.workload import CHANGES, DELETES, INSERTS, UPDATES, Kind, fill, mark, prepare, run_procedure

ONCE = """
    INSERT INTO public.{name} SELECT * FROM public.{name}_rows(new + t * {inserts} + 1, new + (t + 1) * {inserts});
    UPDATE public.{name} SET amount = amount + 1, note = 'updated in ' || t
    WHERE id BETWEEN old + t * {updates} + 1 AND old + (t + 1) * {updates};
    DELETE FROM public.{name}
    WHERE id BETWEEN old + transactions * {updates} + t * {deletes} + 1
                 AND old + transactions * {updates} + (t + 1) * {deletes};
"""
TENFOLD = """
    UPDATE public.{name} SET amount = amount + 1, note = 'updated in ' || t
    WHERE id BETWEEN (t * {changes}) % (transactions * {changes} / 10) + 1
                 AND (t * {changes}) % (transactions * {changes} / 10) + {changes};
"""


@dataclass(frozen=True)
class Load:
    """How often each key changes, the body of one transaction, rows that must be there per round."""

    times: int
    body: str
    rows_per_transaction: float


LOADS = (Load(1, ONCE, UPDATES + DELETES), Load(10, TENFOLD, CHANGES / 10))


def integrates(bench: Bench, kind: Kind, changes: int) -> list[Figure]:
    """Ours from the trail against a native subscription."""
    return [_integrate(bench, kind, changes, load) for load in LOADS]


def _integrate(bench: Bench, kind: Kind, changes: int, load: Load) -> Figure:
    name = f"keys{load.times}_{kind.name}"
    source, copy, native = databases(bench, name, "copy", "native")
    transactions = changes // CHANGES
    before = int(transactions * load.rows_per_transaction) * (bench.pairs + 1 if load.times == 1 else 1)
    prepare(source, kind)
    fill(source, kind, before)
    body = load.body.format(name=kind.name, inserts=INSERTS, updates=UPDATES, deletes=DELETES, changes=CHANGES)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    found: list[Pair] = []
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        mine.refresh(kind.name)
        peers.make_slot(source, f"native_{name}")
        subscription = peers.Subscription(source, native, kind, mine.publication, f"native_{name}")
        fill(native, kind, before)
        for number in range(bench.pairs + 1):
            old, new = number * transactions * (UPDATES + DELETES), (number + 1) * 10**9
            run_procedure(source, kind, body, old, new, transactions)
            mark(source, kind, number + 1)
            mine.capture(transactions * CHANGES + 1)
            applied = partial(subscription.apply, number + 1)
            pair = measure(transactions * CHANGES, mine.integrate, applied, number, bench.settle)
            if number:  # the first round only warms up
                found.append(pair)
                bench.say(f"{kind.name} {number}/{bench.pairs}: integrate, each key x{load.times}: x{pair.ratio:.2f}")
        subscription.drop()
    check(source, copy)
    check(source, native)
    return Figure(f"integrate {kind.name}, each key {load.times} times / native subscription", tuple(found))
