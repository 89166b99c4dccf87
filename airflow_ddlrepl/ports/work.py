"""Independent pieces of work, and the port of who runs them (Spark, or this process)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """Runs a function once per item, maybe on other machines, and returns the results in order.

    Function, items and results are pickled: the function must be importable by name. A task may be
    run twice (a lost executor), so what it writes must bear that.
    """

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""
        ...

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """label: what a person watching reads, e.g. "capture". size: bytes of all items together, if known.

        A runner may do in this process what is too little to be worth a start.
        """
        ...


class InProcess:
    """Runs everything here, one after the other; what tests and small windows use."""

    parallelism = 1

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Run the task for each item, one after the other, in this process."""
        return [task(item) for item in items]
