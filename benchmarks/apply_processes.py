"""An apply process of Oracle Streams against a native subscription that applies the same changes.

Plain rows; the same with a handler in Python for each row; and transactions of which a twentieth fails at the target of
the apply process, since it has a row of theirs: these are in its error queue at the end, and the subscription has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.flow.streams.apply_process.apply import apply
from benchmarks import ours, peers
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import Bench, check, databases
from benchmarks.workload import NARROW, change, mark, prepare, run_procedure

CHANNEL = """\
channel: {name}
source:
  location: {source}
  tables: ["public.narrow"]
adapt_ddl: [{{add_table_pattern: "*"}}]
streams:
  source_database: source
  functions: {{on_row: "benchmarks.apply_processes:on_row"}}
  calls:
    - add_global_rules: {{streams_type: capture, streams_name: cap, queue_name: q}}
    - add_global_rules: {{streams_type: apply, streams_name: app, queue_name: q, source_database: source}}
    - set_parameter: {{apply_name: app, parameter: disable_on_error, value: N}}
    - set_parameter: {{apply_name: app, parameter: parallelism, value: {parallelism}}}
{more}
  targets:
    - {{name: site, location: {target}, apply: app}}
repository: sqlite:///{folder}/{name}.db
trail: {folder}/{name}
"""
HANDLER = "    - set_dml_handler: {object_name: public.narrow, operation_name: DEFAULT, user_procedure: on_row}"
ROWS, OF_EACH, ONE_IN = 150, 50, 20
"""Of the part with failures: changes of a transaction, of each kind; one in so many transactions fails."""
OWN_BLOCK = """
INSERT INTO public.narrow SELECT * FROM public.narrow_rows(new + t * 50 + 1, new + t * 50 + 50);
UPDATE public.narrow SET amount = amount + 1 WHERE id BETWEEN new + t * 50 + 1 AND new + t * 50 + 50;
DELETE FROM public.narrow WHERE id BETWEEN new + t * 50 + 1 AND new + t * 50 + 50;
"""


def on_row(lcr: Any, apply: Any) -> None:
    """Apply a change: a handler that does nothing else."""
    apply.execute(lcr)


@dataclass(frozen=True)
class Part:
    """One line of the result. make: changes at the source, and what the target has of its own; returns how many."""

    name: str
    make: Callable[[str, str, int, int], int]
    more: str = ""
    fails: bool = False


def _plain(source: str, target: str, wanted: int, number: int) -> int:
    return change(source, NARROW, wanted, number)[0]


def _failing(source: str, target: str, wanted: int, number: int) -> int:
    """Each transaction inserts rows, changes and deletes them; of some the target has a row already."""
    first, transactions = number * 10**9, max(ONE_IN, wanted // ROWS)
    with connect(target) as there:
        taken = f"SELECT {first} + t * {OF_EACH} + {OF_EACH} FROM generate_series(0, {transactions - 1}, {ONE_IN}) t"
        there.execute(f"INSERT INTO public.narrow (id) {taken}".encode())
    run_procedure(source, NARROW, OWN_BLOCK, 0, first, transactions)
    return transactions * ROWS


def parts() -> list[Part]:
    return [
        Part("plain rows", _plain),
        Part("a handler in Python for each row", _plain, HANDLER),
        Part("one transaction in 20 fails", _failing, fails=True),
    ]


def applies(bench: Bench, wanted: int, parallelism: int = 1) -> list[Figure]:
    """wanted: changes of plain rows; of the others a tenth."""
    found = []
    for at, part in enumerate(parts()):
        found.append(_measured(bench, part, wanted if at == 0 else max(ROWS * ONE_IN, wanted // 10), at, parallelism))
    return found


def _measured(bench: Bench, part: Part, wanted: int, at: int, parallelism: int) -> Figure:
    name = f"apply_{at}"
    source, copy, native = databases(bench, name, "copy", "native")
    prepare(source, NARROW)
    with connect(copy) as there:
        there.execute(NARROW.create.encode())
    path = bench.folder / f"{name}.yaml"
    _write(path, name, source, copy, part.more, parallelism)
    pairs: list[Pair] = []
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        peers.make_slot(source, f"native_{name}")
        subscription = peers.Subscription(source, native, NARROW, mine.publication, f"native_{name}")
        for number in range(bench.pairs + 1):
            done = part.make(source, copy, wanted if number else min(wanted, 20_000), number)
            mark(source, NARROW, number + 1)
            mine.capture(done + 1)
            pair = measure(done, lambda: _applied(mine), partial(subscription.apply, number + 1), number, bench.settle)
            if number:
                pairs.append(pair)
                bench.say(f"apply, {part.name} {number}/{bench.pairs}: x{pair.ratio:.2f}, {done / pair.ours:,.0f}/s")
        subscription.drop()
    if not part.fails:
        check(source, copy)
    check(source, native)
    return Figure(f"apply process, {part.name} / native subscription", tuple(pairs))


def _applied(mine: ours.Ours) -> float:
    """Seconds to apply what is captured."""
    return ours.timed(lambda: apply(mine.run))[0]


def _write(path: Path, name: str, source: str, target: str, more: str, parallelism: int) -> None:
    path.touch(mode=0o600)
    text = CHANNEL.format(
        name=name, source=source, target=target, more=more, folder=path.parent, parallelism=parallelism
    )
    path.write_text(text)
