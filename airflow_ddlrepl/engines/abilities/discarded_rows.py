"""This module defines the port of a target's discarded rows: the queue in which they wait."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow


class DiscardedRows(Protocol):
    """These are the rows that a target has discarded of a channel's tables."""

    def counts(self) -> Mapping[int, int]:
        """Return how many there are of each table, by its id; of other tables there are none."""
        ...

    def keys(self, table_id: int) -> frozenset[tuple[str, ...]]:
        """Return the keys of those of a table."""
        ...

    def all_of(self, table_id: int) -> Sequence[DiscardedRow]:
        """Return those of a table."""
        ...

    def conflicts(self) -> Mapping[int, Mapping[str, int]]:
        """Return how many changes found another row than they were made to, by table and what became of them."""
        ...

    def newest(self, most: int) -> Sequence[DiscardedRow]:
        """Return the newest of them, at most so many."""
        ...


class DiscardsRows(Ability, ABC):
    """A target discards rows that its tables can't hold, or that lose a conflict, and stores them in a queue."""

    lack = Lack("discards no rows", "take the target out of `target_tables`", "ADP-164")

    @property
    @abstractmethod
    def discarded_rows(self) -> DiscardedRows:
        """Return the rows that the target has discarded."""
