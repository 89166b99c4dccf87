"""Pairs of measurements, ours and the peer's, taken in turns; what counts is their ratio."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Pair:
    """Seconds of both sides for the same amount of work (rows or row changes)."""

    amount: int
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times our rate is the peer's."""
        return self.peer / self.ours


def measure(amount: int, ours: Callable[[], float], peer: Callable[[], float], number: int) -> Pair:
    """One pair; every second time the peer goes first."""
    if number % 2:
        mine = ours()
        return Pair(amount, mine, peer())
    theirs = peer()
    return Pair(amount, ours(), theirs)


@dataclass(frozen=True)
class Figure:
    """One line of the result."""

    what: str
    pairs: tuple[Pair, ...]

    def row(self) -> tuple[str, ...]:
        ratios = [pair.ratio for pair in self.pairs]
        mine = statistics.median(pair.amount / pair.ours for pair in self.pairs)
        theirs = statistics.median(pair.amount / pair.peer for pair in self.pairs)
        spread = f"{min(ratios):.2f}  {statistics.median(ratios):.2f}  {max(ratios):.2f}"
        return self.what, str(len(ratios)), f"{mine / 1000:,.0f}k/s", f"{theirs / 1000:,.0f}k/s", spread


def show(figures: Iterable[Figure]) -> None:
    """Prints the table of ratios; above 1 ours is the faster."""
    table = Table(title="rate of ours against the peer's, on this machine, in this run")
    for name in ("what", "pairs", "ours (median)", "peer (median)", "ratio min  median  max"):
        table.add_column(name, overflow="fold")
    for figure in figures:
        if figure.pairs:
            table.add_row(*figure.row())
    Console(width=130).print(table)
