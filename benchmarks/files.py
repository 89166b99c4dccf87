"""A DuckDB file as the target, against a PostgreSQL server as the target of the same changes and the same rows."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from benchmarks import ours
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import WARM_UP, Bench, databases
from benchmarks.workload import Kind, change, fill, prepare


def changes(bench: Bench, kind: Kind, wanted: int) -> list[Figure]:
    """Both channels capture the same changes, and each integrates them into its target."""
    with _Sides(bench, kind, f"file_{kind.name}") as (source, file, server):
        captures: list[Pair] = []
        integrates: list[Pair] = []
        for number in range(bench.pairs + 1):
            done, _ = change(source, kind, wanted if number else min(wanted, WARM_UP), number)
            first = measure(done, partial(file.capture, done), partial(server.capture, done), number, bench.settle)
            second = measure(done, file.integrate, server.integrate, number, bench.settle)
            if number:  # the first round only warms up
                captures.append(first)
                integrates.append(second)
                ratios = f"capture x{first.ratio:.2f}, integrate x{second.ratio:.2f}"
                bench.say(f"{kind.name} {number}/{bench.pairs}: {ratios}")
        file.compare()
        server.compare()
    return [
        Figure(f"capture {kind.name} for a DuckDB file / for PostgreSQL", tuple(captures)),
        Figure(f"integrate {kind.name} into a DuckDB file / into PostgreSQL", tuple(integrates)),
        Figure(
            f"changes {kind.name} into a DuckDB file / into PostgreSQL",
            tuple(
                Pair(one.amount, one.ours + two.ours, one.peer + two.peer)
                for one, two in zip(captures, integrates, strict=True)
            ),
        ),
    ]


def refreshes(bench: Bench, kind: Kind, rows: int) -> list[Figure]:
    """Both channels refresh the same table."""
    found: list[Pair] = []
    with _Sides(bench, kind, f"load_{kind.name}", rows) as (_, file, server):
        for number in range(1, bench.pairs + 1):
            pair = measure(
                rows, lambda: file.refresh(kind.name), lambda: server.refresh(kind.name), number, bench.settle
            )
            found.append(pair)
            bench.say(f"{kind.name} {number}/{bench.pairs}: refresh x{pair.ratio:.2f}")
        file.compare()
        server.compare()
    return [Figure(f"refresh {kind.name} into a DuckDB file / into PostgreSQL", tuple(found))]


class _Sides:
    """Two active channels from one table: into a file, and into a server. rows: that the table has at first."""

    def __init__(self, bench: Bench, kind: Kind, name: str, rows: int = 0) -> None:
        self._bench, self._kind, self._name, self._rows = bench, kind, name, rows
        self._stack = ExitStack()

    def __enter__(self) -> tuple[str, ours.Ours, ours.Ours]:
        bench, kind = self._bench, self._kind
        source, copy = databases(bench, self._name, "copy")
        prepare(source, kind)
        if self._rows:
            fill(source, kind, self._rows)
        found: list[ours.Ours] = []
        for name, target in (("file", f"duckdb://{bench.folder}/{self._name}.duckdb"), ("server", copy)):
            path = ours.write_channel(bench.folder, f"{self._name}_{name}", kind.name, source, target)
            found.append(self._stack.enter_context(ours.opened(path, bench.runner)))
            found[-1].activate()
        return source, found[0], found[1]

    def __exit__(self, *why: object) -> None:
        self._stack.close()
