"""A row that a target discards, because a column can't hold a value of it, waits in a queue at the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.conflicts import Conflict


@dataclass(frozen=True, slots=True)
class DiscardedRow:
    """A discarded row is one of the source's that a target's table does not have.

    A value does not fit (`coerce_error_policy: discard`), or its change lost a conflict (`conflicts`).
    key: the texts of its key's values. reason: which columns can't hold which value. values: the text of each value, by
    the target's column; None is NULL. at: where in the log it became so, or the position of the load that found it.
    since: when the target stored it; None: it has not yet. conflict: what its change lost; None: a value does not fit.
    """

    table_id: int
    key: tuple[str, ...]
    reason: str
    values: Mapping[str, str | None]
    at: Position
    since: datetime | None = None
    conflict: Conflict | None = None


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
