"""This module defines the port of runners, which run independent tasks: on Spark, or in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runner(Protocol):
    """A runner runs a function once per item, maybe on other machines, and returns the results in order.

    Function, items and results are pickled: the function must be importable by name. A task may be
    run twice (a lost executor), so what it writes must bear that.
    """

    @property
    def parallelism(self) -> int:
        """Return how many tasks run at once."""
        ...

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Run the task once for each item, and return the results in order.

        label: what a person watching reads, e.g. "capture". size: bytes of all items together, if known.
        A runner may do in this process what is too little to be worth a start.
        """
        ...


class InProcess:
    """This runner runs every task in this process, one after the other; tests and small windows use it."""

    parallelism = 1

    def map(
        self, task: Callable[[Item], Result], items: Sequence[Item], label: str, size: int | None = None
    ) -> list[Result]:
        """Run the task for each item, one after the other, in this process."""
        return [task(item) for item in items]


@runtime_checkable
class ProbesWorkers(Protocol):
    """This ability of a runner is to try its workers before they get a task."""

    def probe(self) -> None:
        """Raise an error when the workers lack what tasks need."""
        ...


def probe(runner: Runner) -> None:
    """Try the workers of a runner that can do so, before anything is changed at a source for work of theirs."""
    if isinstance(runner, ProbesWorkers):
        runner.probe()


@runtime_checkable
class StartsAhead(Protocol):
    """This ability of a runner is to start what runs tasks before there is one."""

    def expect(self, size: int) -> None:
        """Get ready for tasks of so many bytes."""
        ...


def expect(runner: Runner, size: int | None) -> None:
    """Tell a runner that can use it how many bytes of work will come. None: nobody knows."""
    if size is not None and isinstance(runner, StartsAhead):
        runner.expect(size)


_offered: list[Callable[[], Any]] = []


def offer_session(session: Callable[[], Any]) -> None:
    """Offer a runner's Spark session to engines whose targets are written in one; it starts when one asks for it."""
    _offered.append(session)


def withdraw_session(session: Callable[[], Any]) -> None:
    """Offer a runner's Spark session no more; the one that was offered before is offered again."""
    if session in _offered:
        _offered.remove(session)


def offered_session() -> Any | None:
    """Return the Spark session that is offered in this process, started if it is not yet; None: no runner has one."""
    return _offered[-1]() if _offered else None
