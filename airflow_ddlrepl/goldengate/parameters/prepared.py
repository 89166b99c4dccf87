"""This module keeps what is worked out once from parameters, such as an index of patterns, for all statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Source = TypeVar("Source")
Prepared = TypeVar("Prepared")
MOST = 16_384


def prepared_once(prepare: Callable[[Source], Prepared]) -> Callable[[Source], Prepared]:
    """Return a function that prepares each object once.

    Objects are told apart by identity: parameters have thousands of entries, whose hash would be worked out for each
    statement. An object is kept, so that no other one gets its identity.
    """
    known: dict[int, tuple[Source, Prepared]] = {}

    def prepared(source: Source) -> Prepared:
        found = known.get(id(source))
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[id(source)] = source, prepare(source)
        return found[1]

    return prepared
