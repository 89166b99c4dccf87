"""This module counts how often custom functions are called, and how often they leave a message as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Counts = Mapping[str, Sequence[int]]
"""By function: how many messages it got, and how many of them it left as they were."""
LEAST = 100
"""So many messages say how many of them a function leaves as they are."""


@dataclass
class FunctionCounts:
    """These counts are of the messages that functions got, and of those that came back unchanged, by function."""

    calls: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)

    def add(self, function: str, calls: int, unchanged: int) -> None:
        """Count messages that a function got, and those of them that it left as they were."""
        self.calls[function] += calls
        self.unchanged[function] += unchanged

    def add_all(self, counts: Counts) -> None:
        """Add other counts."""
        for function, (calls, unchanged) in counts.items():
            self.add(function, calls, unchanged)

    def to_json(self) -> dict[str, tuple[int, int]]:
        """Return the counts by function."""
        return {name: (calls, self.unchanged[name]) for name, calls in self.calls.items()}


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A function's use by a client: who called it, as which user, for how many messages, and how many stayed.

    kind: of the client, as `streams_type` has it. unchanged: messages that the function left as they were.
    """

    client: str
    kind: str
    user: str
    function: str
    calls: int
    unchanged: int

    def __str__(self) -> str:
        return (
            f"function {self.function} of {self.kind} {self.client}, called as {self.user}: {self.calls} messages,"
            f" {self.unchanged} of them left as they were"
        )

    @property
    def is_mostly_needless(self) -> bool:
        """Return whether the function leaves most of what it gets as it is; a few messages say nothing."""
        return self.calls >= LEAST and 2 * self.unchanged > self.calls


def uses(client: str, kind: str, user: str, counts: Counts) -> tuple[FunctionUse, ...]:
    """Return the counts of a client as uses of its functions."""
    return tuple(FunctionUse(client, kind, user, name, *numbers) for name, numbers in counts.items())


def uses_in(result: Any) -> Iterator[FunctionUse]:
    """Yield the uses of functions that a stage's result has, as it is stored with its run; None: there is none."""
    found = result.get("functions", ()) if isinstance(result, dict) else ()
    for one in found if isinstance(found, list) else ():
        yield FunctionUse(**one)


def uses_in_runs(results: Iterable[Any]) -> list[FunctionUse]:
    """Return how often functions were called in runs, by client and function. results: of the runs, as stored."""
    return summed(use for result in results for use in uses_in(result))


def summed(found: Iterable[FunctionUse]) -> list[FunctionUse]:
    """Return the uses of the same function by the same client as one; of several users it has the first."""
    sums: dict[tuple[str, str, str], FunctionUse] = {}
    for one in found:
        key = (one.kind, one.client, one.function)
        known = sums.get(key)
        if known is not None:
            one = replace(known, calls=known.calls + one.calls, unchanged=known.unchanged + one.unchanged)
        sums[key] = one
    return list(sums.values())
