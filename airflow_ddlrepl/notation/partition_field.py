"""This module reads how a table is partitioned, one field after the other: `bucket(16, id)`, `days(at)`, `country`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNTED = frozenset(["bucket", "truncate"])
_OF_TIME = frozenset(["years", "months", "days", "hours"])
_CALL = re.compile(r"([a-z]+)\((?:\s*(\d{1,6})\s*,)?\s*([^(),]+?)\s*\)")
_COLUMN = re.compile(r"[^(),\s]+")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A partition field is a column, or what is computed of it. transform: its name; empty: the column itself.

    number: of buckets, or the width to which values are cut; 0: the transform has none.
    """

    column: str
    transform: str = ""
    number: int = 0


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
