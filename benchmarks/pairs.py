"""Pairs of measurements, ours and the peer's, taken in turns; what counts is their ratio."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.memory import Peak


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


def measure(
    amount: int, ours: Callable[[], float], peer: Callable[[], float], number: int, settle: Callable[[], None]
) -> Pair:
    """One pair; every second time the peer goes first. settle: before each side, so that none pays for the other."""
    took: dict[Callable[[], float], float] = {}
    for side in (ours, peer) if number % 2 else (peer, ours):
        settle()
        took[side] = side()
    return Pair(amount, took[ours], took[peer])


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
        return self.what, str(len(ratios)), _rate(mine), _rate(theirs), spread


def _rate(amount: float) -> str:
    return f"{amount / 1000:,.0f}k/s" if amount >= 10_000 else f"{amount:,.0f}/s"


@dataclass(frozen=True)
class Seconds:
    """One line of the second table: what was measured, what it should take at most."""

    what: str
    wanted: float
    seconds: tuple[float, ...]

    def row(self) -> tuple[str, ...]:
        found = self.seconds
        spread = f"{min(found):.1f}  {statistics.median(found):.1f}  {max(found):.1f}"
        return self.what, str(len(found)), f"{self.wanted:g}", spread


def show_seconds(lines: Iterable[Seconds]) -> None:
    """Prints the table of seconds."""
    table = Table(title="seconds, on this machine, in this run")
    for name in ("what", "runs", "at most", "min  median  max"):
        table.add_column(name, overflow="fold")
    for line in lines:
        table.add_row(*line.row())
    Console(width=130).print(table)


def show_peaks(peaks: Iterable[Peak]) -> None:
    """Prints the peaks, and how many times the smallest amount's each is."""
    table = Table(title="peak memory of all processes of a stage")
    for name in ("stage", "rows", "MiB resident", "times the smallest amount's", "seconds"):
        table.add_column(name)
    first: dict[str, int] = {}
    for peak in peaks:
        times = peak.resident / first.setdefault(peak.stage, peak.resident)
        table.add_row(peak.stage, f"{peak.rows:,}", f"{peak.resident >> 20:,}", f"{times:.2f}", f"{peak.seconds:.0f}")
    Console(width=130).print(table)


def show(figures: Iterable[Figure]) -> None:
    """Prints the table of ratios; above 1 ours is the faster."""
    table = Table(title="rate of ours against the peer's, on this machine, in this run")
    for name in ("what", "pairs", "ours (median)", "peer (median)", "ratio min  median  max"):
        table.add_column(name, overflow="fold")
    for figure in figures:
        if figure.pairs:
            table.add_row(*figure.row())
    Console(width=130).print(table)
