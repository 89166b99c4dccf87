"""What a cycle takes as data grows: with more changes, with more tables that have some, with more workers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from airflow_ddlrepl.ports.work import Runner
from benchmarks import ours
from benchmarks.many import Channel
from benchmarks.picture import Chart, Line, drawn
from benchmarks.ratios import Bench, check, databases
from benchmarks.schedule import Recorded, Recorder
from benchmarks.workload import Kind, change, prepare

CHANGES, BEYOND = (10_000, 100_000, 1_000_000, 2_000_000), (10_000_000, 100_000_000)
"""These amounts of changes are measured, and those are computed from the two largest of these."""
TABLES, EACH = (1, 10, 100, 1_000, 5_000), 20
WORKERS, SHARED = (1, 2, 4, 8, 16, 32, 64), 1_000_000
"""Workers share so many changes, with 1 to 64 of them."""


@dataclass(frozen=True)
class Growth:
    """These are the figures: seconds of a cycle by changes, tables and workers.

    by_stage: by workers, then stage, of a cycle of `shared` changes.
    """

    by_changes: dict[int, float]
    by_tables: dict[int, float]
    by_stage: dict[int, dict[str, float]]
    shared: int

    @property
    def by_workers(self) -> dict[int, float]:
        """Return the seconds of a whole cycle by workers."""
        return {workers: sum(stages.values()) for workers, stages in self.by_stage.items()}

    @property
    def beyond(self) -> dict[int, float]:
        """Return the seconds of cycles of still more changes: window follows window, each change takes as long."""
        (less, few), (more, many) = sorted(self.by_changes.items())[-2:]
        each = max(many - few, 0.0) / (more - less)
        return {times * more: many + (times - 1) * more * each for times in (large // CHANGES[-1] for large in BEYOND)}


def measure(bench: Bench, kind: Kind, scale: float, picture: Path | None) -> None:
    """Print what a cycle takes as data grows, and draw it. scale: of the amounts. picture: the SVG file to write."""
    shared = max(1, int(SHARED * scale))
    found = Growth(_by_changes(bench, kind, scale), _by_tables(bench, scale), _by_workers(bench, kind, shared), shared)
    _show(found)
    if picture is not None:
        picture.write_text(_picture(found))


def _by_changes(bench: Bench, kind: Kind, scale: float) -> dict[int, float]:
    name = f"growth_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
    runs, found = _numbers(), {}
    for amount in _scaled(CHANGES, scale):
        changed = partial(_change, source, kind, amount, runs)
        found[amount] = _median(bench, partial(_cycle, path, bench.runner), changed)
        bench.say(f"a cycle of {amount:,} changes: {found[amount]:.1f} s")
    check(source, copy)
    return found


def _by_tables(bench: Bench, scale: float) -> dict[int, float]:
    found = {}
    for count in _scaled(TABLES, scale):
        channel = Channel(bench, f"growth{count}", count)
        found[count] = _median(bench, channel.replicate, partial(channel.change, count, EACH))
        bench.say(f"a cycle of {count:,} tables with {EACH} changes each: {found[count]:.2f} s")
        check(channel.source, channel.copy)
    return found


def _by_workers(bench: Bench, kind: Kind, shared: int) -> dict[int, dict[str, float]]:
    """Return the seconds of each stage of a cycle of so many changes by the number of workers, all of them computed."""
    name = f"workers_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
    start = min(_start(bench.runner) for _ in range(3))
    runs, found = _numbers(), {}
    for workers in WORKERS:
        _change(source, kind, shared, runs)
        bench.settle()
        recorder = Recorder(workers)
        found[workers] = Recorded.of(recorder, _cycle(path, recorder)).seconds(workers, start)
        bench.say(f"the same with {workers} workers: {sum(found[workers].values()):.1f} s, computed")
    check(source, copy)
    return found


def _cycle(path: Path, runner: Runner) -> float:
    with ours.opened(path, runner) as mine:
        return mine.replicate()


def _change(source: str, kind: Kind, amount: int, runs: Iterator[int]) -> None:
    change(source, kind, amount, next(runs))


def _start(runner: Runner) -> float:
    """Seconds that a runner takes for tasks that do nothing."""
    started = time.monotonic()
    ours.warm(runner)
    return time.monotonic() - started


def _median(bench: Bench, cycle: Callable[[], float], prepared: Callable[[], None]) -> float:
    """Return the median of a cycle's seconds. prepared: makes the changes of each."""
    took = []
    for _ in range(bench.pairs):
        prepared()
        bench.settle()
        took.append(cycle())
    return statistics.median(took)


def _numbers() -> Iterator[int]:
    return iter(range(1 << 30))


def _scaled(amounts: tuple[int, ...], scale: float) -> list[int]:
    return sorted({max(1, int(amount * scale)) for amount in amounts})


def _show(found: Growth) -> None:
    table = Table(title="seconds of a cycle as data grows, on this machine, in this run")
    for name in ("what", "how many", "seconds"):
        table.add_column(name)
    for amount, seconds in found.by_changes.items():
        table.add_row("changes in one table", f"{amount:,}", f"{seconds:.2f}")
    for amount, seconds in found.beyond.items():
        table.add_row("changes in one table, computed", f"{amount:,}", f"{seconds:.0f}")
    for count, seconds in found.by_tables.items():
        table.add_row(f"tables with {EACH} changes each", f"{count:,}", f"{seconds:.2f}")
    for workers, stages in found.by_stage.items():
        parts = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in stages.items())
        table.add_row("workers, computed", f"{workers}", f"{sum(stages.values()):.1f} ({parts})")
    Console(width=130).print(table)


def _picture(found: Growth) -> str:
    largest = max(found.by_changes)
    beyond = ((largest, found.by_changes[largest]), *found.beyond.items())
    one = found.by_workers[1]
    ideal = tuple((workers, one / workers) for workers in found.by_workers)
    charts = (
        Chart(
            "A cycle of more changes",
            "changes in one table",
            (Line("measured", tuple(found.by_changes.items())), Line("computed", beyond, is_dashed=True)),
        ),
        Chart(
            "A cycle of more tables",
            f"tables with {EACH} changes each",
            (Line("measured", tuple(found.by_tables.items())),),
        ),
        Chart(
            "A cycle with more workers",
            f"workers, for {found.shared:,} changes in one table",
            (
                Line("computed", tuple(found.by_workers.items()), is_dashed=True),
                Line("if all of it could be shared", ideal, is_dashed=True),
            ),
        ),
    )
    return drawn("What a cycle takes as data grows", _about(found), charts)


def _about(found: Growth) -> str:
    amounts = {**found.by_changes, **found.beyond}
    changes = ", ".join(f"{amount:,}: {seconds:.1f} s" for amount, seconds in amounts.items())
    tables = ", ".join(f"{count:,}: {seconds:.1f} s" for count, seconds in found.by_tables.items())
    workers = ", ".join(f"{count}: {seconds:.1f} s" for count, seconds in found.by_workers.items())
    return f"Seconds of a cycle by changes ({changes}), by tables ({tables}) and by workers ({workers})."
