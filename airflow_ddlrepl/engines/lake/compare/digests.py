"""Digests of buckets say which parts of two tables may differ, so that only rows of these are gathered and compared.

A row's bucket is that of its key, or of all its values where there is none. A bucket's digest is how many rows it has,
and the sum of their hashes, so that the order of rows does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

BUCKETS = 4096
_MODULUS = 1 << 64


def bucket(values: Sequence[str]) -> str:
    """Return SQL for the bucket of a row. values: SQL of what decides about it."""
    return f"hash({', '.join(values)}) % {BUCKETS}"


def within(values: Sequence[str], buckets: Collection[int]) -> str:
    """Return SQL that is true for the rows of these buckets."""
    return f"{bucket(values)} IN ({', '.join(map(str, buckets))})"


class Digests:
    """These are the digests of one table, of no row yet."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._sums: Counter[int] = Counter()

    @staticmethod
    def query(key: Sequence[str], names: Sequence[str], rows: str) -> str:
        """Return the query of which `add` takes the rows. key: what decides about buckets. rows: SQL."""
        digest = f"CAST(sum(hash({', '.join(names)})) AS VARCHAR)"
        return f"SELECT {bucket(key)}, count(*), {digest} FROM ({rows}) GROUP BY 1"

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add the rows that `query` gives for some rows of the table."""
        for place, count, digest in rows:
            self._counts[place] += count
            self._sums[place] = (self._sums[place] + int(digest)) % _MODULUS

    @property
    def rows(self) -> int:
        """Return how many rows the table has."""
        return self._counts.total()

    def unlike(self, other: Digests) -> list[int]:
        """Return the buckets in which the tables differ."""
        places = sorted(self._counts.keys() | other._counts.keys())
        return [one for one in places if self._of(one) != other._of(one)]

    def _of(self, place: int) -> tuple[int, int]:
        return self._counts[place], self._sums[place]
