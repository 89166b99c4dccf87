"""This module defines conflicts: a target's row is not the one that a change was made to. And how each is resolved.

The names are those of GoldenGate's RESOLVECONFLICT and COMPARECOLS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal


class Conflict(StrEnum):
    """A conflict is the way in which a target's row is not what a change expects."""

    INSERT_ROW_EXISTS = "insert_row_exists"
    UPDATE_ROW_EXISTS = "update_row_exists"
    UPDATE_ROW_MISSING = "update_row_missing"
    DELETE_ROW_EXISTS = "delete_row_exists"
    DELETE_ROW_MISSING = "delete_row_missing"


class Resolution(StrEnum):
    """A resolution says whether the change or the target's row wins a conflict."""

    OVERWRITE = "overwrite"
    IGNORE = "ignore"
    DISCARD = "discard"
    USE_MAX = "use_max"
    USE_MAX_EQ = "use_max_eq"
    USE_MIN = "use_min"
    USE_MIN_EQ = "use_min_eq"


@dataclass(frozen=True)
class ConflictAnswer:
    """An answer to one kind of conflict: a resolution, with the columns whose values decide.

    Of several columns a later one decides between equal values of the earlier ones.
    """

    resolution: Resolution
    columns: tuple[str, ...] = ()

    @property
    def as_written(self) -> Any:
        """Return the answer as the channel file writes it: its name, or {name: column}. Targets store it so."""
        if not self.columns:
            return self.resolution.value
        return {self.resolution.value: self.columns[0] if len(self.columns) == 1 else list(self.columns)}

    def __str__(self) -> str:
        return f"{self.resolution} ({', '.join(self.columns)})" if self.columns else self.resolution.value


@dataclass(frozen=True)
class AllExcept:
    """All columns are compared but these."""

    all_except: tuple[str, ...]


Compared = Literal["all", "key"] | tuple[str, ...] | AllExcept | None
"""Which columns' old values have to be the target's; None: all of them."""


@dataclass(frozen=True)
class ConflictAnswers:
    """These are the answers to the conflicts of a table, and the columns by which a change finds one."""

    compare: Compared = None
    compare_deletes: Compared = None
    """The columns that deletes compare; None: the same as `compare`."""
    answers: Mapping[Conflict, ConflictAnswer] = field(default_factory=dict, hash=False)
    """The answers that there are; a conflict without one is an error."""

    def answer_to(self, conflict: Conflict) -> ConflictAnswer | None:
        """Return the answer to a conflict; None: it is an error."""
        return self.answers.get(conflict)

    @property
    def is_empty(self) -> bool:
        """Do they say nothing at all?"""
        return self == ConflictAnswers()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the source that the answers name, each once."""
        found = [one.columns for one in self.answers.values()]
        for compared in (self.compare, self.compare_deletes):
            found += [compared] if isinstance(compared, tuple) else []
            found += [compared.all_except] if isinstance(compared, AllExcept) else []
        return tuple(dict.fromkeys(column for columns in found for column in columns))

    def compares(self, column: str, *, of_deletes: bool = False) -> bool:
        """Return whether the old value of a source's column, which is none of the key's, has to be the target's."""
        how = (self.compare_deletes if of_deletes else None) or self.compare
        if isinstance(how, AllExcept):
            return column not in how.all_except
        return column in how if isinstance(how, tuple) else how != "key"

    def renamed(self, names: Callable[[str], str]) -> ConflictAnswers:
        """Return the same answers with other names of the columns."""
        return ConflictAnswers(
            _renamed(self.compare, names),
            _renamed(self.compare_deletes, names),
            {one: replace(found, columns=tuple(map(names, found.columns))) for one, found in self.answers.items()},
        )

    @property
    def discards(self) -> bool:
        """Are changes stored that lose a conflict?"""
        return any(found.resolution is Resolution.DISCARD for found in self.answers.values())


def _renamed(compared: Compared, names: Callable[[str], str]) -> Compared:
    if isinstance(compared, tuple):
        return tuple(map(names, compared))
    return AllExcept(tuple(map(names, compared.all_except))) if isinstance(compared, AllExcept) else compared
