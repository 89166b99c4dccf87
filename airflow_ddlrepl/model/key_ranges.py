"""Key ranges select rows of a table by its integer key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Key ranges are the rows of a table whose key lies in one of several ranges.

    column: the name of the key's only column. bounds: the lowest and the highest key of each range, both included;
    ascending, without overlap.
    """

    column: str
    bounds: tuple[tuple[int, int], ...]


def joined(numbers: list[int], shift: int) -> tuple[tuple[int, int], ...]:
    """Return the bounds of ranges of 2^shift keys each; neighbours become one range.

    numbers: of the ranges, ascending: that of a key is `key >> shift`.
    """
    found: list[tuple[int, int]] = []
    for number in numbers:
        low, high = number << shift, ((number + 1) << shift) - 1
        if found and found[-1][1] + 1 == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)
