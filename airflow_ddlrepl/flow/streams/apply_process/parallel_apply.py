"""Transactions that touch no row in common are applied side by side, and committed in the source's order.

Where all that is read has parts that touch no row in common, each session applies a part of it in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Condition
from typing import TypeVar

from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.engines.abilities.lcr_target import LcrSession, LcrTransaction, NotTogether
from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import RowLcr

Some = TypeVar("Some")
Work = Callable[[LcrTransaction, Some], None]
MOST_ROWS = 10_000
"""A transaction that touches more rows is applied alone: nobody holds all their keys in memory."""


def waves(
    pending: Sequence[Some], most: int, messages: Callable[[Some], Iterable[ApplyMessage]]
) -> Iterator[list[Some]]:
    """Yield transactions in their order, those together that touch no row in common; at most so many."""
    wave: list[Some] = []
    touched: set[Hashable] = set()
    for one in pending:
        rows = touched_rows(messages(one))
        if wave and (rows is None or not touched.isdisjoint(rows) or len(wave) >= most):
            yield wave
            wave, touched = [], set()
        wave.append(one)
        if rows is None:
            yield wave
            wave, touched = [], set()
        else:
            touched |= rows
    if wave:
        yield wave


def in_parts(pending: Sequence[Some], most: int) -> list[Sequence[Some]]:
    """Return transactions in at most so many parts, which follow each other and have about as many of them each."""
    cuts = [len(pending) * part // most for part in range(most + 1)]
    return [pending[low:high] for low, high in pairwise(cuts) if low < high]


def touched_rows(messages: Iterable[ApplyMessage]) -> set[Hashable] | None:
    """Return the tables that a transaction touches, with the keys of their rows; None: nobody knows what it touches.

    A table of which not every row has a key is touched as a whole. None, too, of a transaction that touches many rows.
    """
    found: set[Hashable] = set()
    whole: set[Hashable] = set()
    for one in messages:
        lcr = one.message
        if not isinstance(lcr, RowLcr) or len(found) > MOST_ROWS:
            return None
        table = (lcr.owner, lcr.name)
        for image in (lcr.old, lcr.new):
            key = tuple(image.get(column) for column in one.key_columns)
            if image and (not key or None in key):
                whole.add(table)
            elif image:
                found.add((table, key))
    return None if whole else found


class _Turns:
    """These turns let transactions commit in their order; one that fails keeps those behind it from it, no others."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._committed = 0
        self._failed: set[int] = set()

    def wait(self, place: int) -> None:
        """Wait until all before this place have committed. Raises Abandoned where one of them has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._committed == place or min(self._failed, default=place) < place)
            if self._committed != place:
                raise Abandoned

    def committed(self) -> None:
        """Say that the transaction whose turn it is has committed."""
        with self._changed:
            self._committed += 1
            self._changed.notify_all()

    def failed(self, place: int) -> None:
        """Say that the transaction at this place has failed."""
        with self._changed:
            self._failed.add(place)
            self._changed.notify_all()


class Abandoned(Exception):
    """This exception undoes a transaction because one before it has failed."""


def apply_wave(
    sessions: Sequence[LcrSession], wave: Sequence[Some], work: Work[Some], before_commit: Work[Some]
) -> int:
    """Apply transactions side by side, each in a session of its own; return how many, the first ones, are committed.

    work: applies one; before_commit: is called for each in their order. After a failure the others are to be applied
    one by one: perhaps one was in another one's way.
    """
    turns = _Turns()

    def apply(place: int) -> bool:
        one = wave[place]

        def last(transaction: LcrTransaction) -> None:
            turns.wait(place)
            before_commit(transaction, one)

        try:
            sessions[place].run_beside(lambda transaction: work(transaction, one), last)
        except Abandoned:
            return False
        except BaseException as error:
            turns.failed(place)
            if explained(error) is None and not isinstance(error, NotTogether):
                raise
            log.info("transactions are not applied side by side: %s", error or "they can't be applied together")
            return False
        turns.committed()
        return True

    with ThreadPoolExecutor(len(wave), thread_name_prefix="ddlrepl-apply") as pool:
        return sum(pool.map(apply, range(len(wave))))
