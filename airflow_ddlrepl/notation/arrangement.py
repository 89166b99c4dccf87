"""This module reads how the rows of a table are arranged in its files: by partition (`bucket(16, id)`), and sorted."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNTED = frozenset(["bucket", "truncate"])
_OF_TIME = frozenset(["years", "months", "days", "hours"])
_CALL = re.compile(r"([a-z]+)\((?:\s*(\d{1,6})\s*,)?\s*([^(),]+?)\s*\)")
_COLUMN = re.compile(r"[^(),\s]+")
_SORTED = re.compile(r"([^(),\s]+)(?:\s+(asc|desc))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition field is a column, or what is computed of it. transform: its name; empty: the column itself.

    number: of buckets, or the width to which values are cut; 0: the transform has none.
    """

    column: str
    transform: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class SortField:
    """A sort field is a column by which the rows of a file are sorted. is_descending: do large values come first?"""

    column: str
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class Arrangement:
    """An arrangement says in which files the rows of a table are, and in which order there; without fields: in any."""

    partitions: tuple[PartitionField, ...] = ()
    sort: tuple[SortField, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.partitions or self.sort)


NOT_ARRANGED = Arrangement()


def partition_field(text: str) -> PartitionField:
    """Parse a field. Raises ValueError when it can't be parsed."""
    if found := _CALL.fullmatch(text.strip()):
        transform, number, column = found[1], int(found[2] or 0), found[3]
        is_whole = number > 0 if transform in _COUNTED else transform in _OF_TIME and found[2] is None
        if is_whole:
            return PartitionField(column, transform, number)
    elif _COLUMN.fullmatch(text.strip()):
        return PartitionField(text.strip())
    raise ValueError(
        f"{text} is no partition field: write bucket(16, column), truncate(4, column), years(column), months(column),"
        " days(column), hours(column), or the name of a column"
    )


def sort_field(text: str) -> SortField:
    """Parse a column, and the direction in which rows are sorted by it. Raises ValueError when it can't be parsed."""
    if found := _SORTED.fullmatch(text.strip()):
        return SortField(found[1], (found[2] or "").lower() == "desc")
    raise ValueError(f"{text} is no column to sort by: write its name, or its name and desc")
